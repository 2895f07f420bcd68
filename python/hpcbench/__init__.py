"""Results of hpcbench as pandas frames, and events for training scripts.

    import hpcbench
    hpcbench.table()                    # the report: medians with their intervals, speedups, efficiencies
    hpcbench.runs("results")            # one row a run, with its metrics
    hpcbench.series("results")          # losses by epoch, times by rank ...

Nothing is computed here: statistics are the program's, numbers are the index's, doubles as they were measured. Units are in
`frame.attrs["units"]`. Frames need pandas; `hpcbench.events` needs nothing; callbacks for
frameworks are modules of their own: `hpcbench.lightning`, `hpcbench.transformers`.
"""
from hpcbench._frames import runs, series, table
from hpcbench._program import ProgramError, find_program

__all__ = ["ProgramError", "find_program", "runs", "series", "table"]
