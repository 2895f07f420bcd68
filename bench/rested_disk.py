"""A disk that has rested: where files were deleted minutes ago, making new ones takes longer."""
import glob
import os
import sys
import time

REST_S = 360  # the longest that ext4 remembers a deleted file: RECENTCY_MIN + RECENTCY_DIRTY of fs/ext4/ialloc.c
BEGAN_S = time.monotonic()  # of this command, which deletes very little before its end


def remembers_deleted(folder):
    """Is it on ext4 without a journal? That gives the inode of a deleted file to no other for minutes, and each new file searches past all of those."""
    device = os.stat(folder).st_dev
    name = os.path.basename(os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"))
    return os.path.isdir(f"/proc/fs/ext4/{name}") and not glob.glob(f"/proc/fs/jbd2/{name}-*")


def left_s(folder):
    """Seconds until nothing that was deleted before this command began is remembered."""
    return max(0.0, BEGAN_S + REST_S - time.monotonic()) if remembers_deleted(folder) else 0.0


def wait(folder):
    seconds = left_s(folder)
    if seconds:
        print(f"the disk rests for {seconds:.0f} s: what was deleted just before would slow the making of files", file=sys.stderr, flush=True)
        time.sleep(seconds)
