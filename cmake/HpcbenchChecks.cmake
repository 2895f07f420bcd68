# How tests become tests of CTest: check(), one call each; tests/CMakeLists.txt lists them.
#
# Labels: unit, e2e, project, slurm, huggingface, cuda, sanitizer, fuzz, lint, bench, and `long` for what only the long form runs. `thorough` beside
# one of these: omitted by the quick form, because it depends little on the machine.
# COST is about how many seconds a check takes on two cores, empty for few: CTest begins the longest first, and uses what it has
# measured since. A check that computes takes cores (resource groups, of which scripts/test.sh gives out as many as there are); one that
# waits for more than half of its time (check.py prints what it computes) takes none, so that it runs beside those that compute.

include(ProcessorCount)
ProcessorCount(HPCBENCH_CORES)

option(HPCBENCH_LONG_TESTS "the long form of checks: hours" OFF)

# Python with pytest, and jsonschema and pandas if possible: Debian's packages belong to Debian's interpreter, which need not be the first on PATH.
set(HPCBENCH_PYTEST "" CACHE STRING "an interpreter of Python that has pytest (empty: looked for)")
if(NOT HPCBENCH_PYTEST)
  foreach(modules "pytest, jsonschema, pandas" "pytest, jsonschema" pytest)
    foreach(interpreter python3 /usr/bin/python3)
      execute_process(COMMAND ${interpreter} -c "import ${modules}" RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
      if(status EQUAL 0 AND NOT HPCBENCH_PYTEST)
        set(HPCBENCH_PYTEST ${interpreter} CACHE STRING "an interpreter of Python that has pytest" FORCE)
      endif()
    endforeach()
  endforeach()
endif()
set(HPCBENCH_JUNIT ${CMAKE_BINARY_DIR}/junit)

# check(NAME LABEL COST [THOROUGH] [WAITS] [CORES N] [LIMIT SECONDS] [LOCK RESOURCE...] [SETS_UP FIXTURE] [NEEDS FIXTURE...] COMMAND...)
function(check name label cost)
  cmake_parse_arguments(PARSE_ARGV 3 arg "THOROUGH;WAITS" "CORES;LIMIT;SETS_UP" "LOCK;NEEDS;COMMAND")
  if(arg_THOROUGH)
    list(APPEND label thorough)
  endif()
  if(NOT cost)
    set(cost 5)
  endif()
  if(NOT arg_LIMIT)
    math(EXPR arg_LIMIT "6 * ${cost}")  # for machines that also do other work; a check that hangs takes no longer than this
    if(arg_LIMIT LESS 900)
      set(arg_LIMIT 900)
    endif()
  endif()
  set(variables HPCBENCH_PROGRAMS=${CMAKE_BINARY_DIR}/bin)
  if(HPCBENCH_LONG_TESTS)
    set(arg_LIMIT 14400)
    list(APPEND variables HPCBENCH_LONG=1)
  endif()
  add_test(NAME ${name} COMMAND ${CMAKE_SOURCE_DIR}/tests/check.py --limit ${arg_LIMIT} ${name} ${arg_COMMAND}
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  # check.py interrupts a check that hangs, lets it clean up and kills it; CTest would kill check.py itself.
  math(EXPR timeout "${arg_LIMIT} + 120")
  set_tests_properties(${name} PROPERTIES LABELS "${label}" COST ${cost} TIMEOUT ${timeout} SKIP_RETURN_CODE 77 ENVIRONMENT "${variables}")
  if(NOT arg_WAITS)
    if(NOT arg_CORES)
      set(arg_CORES 1)
    endif()
    if(arg_CORES GREATER HPCBENCH_CORES)
      set(arg_CORES ${HPCBENCH_CORES})
    endif()
    set_tests_properties(${name} PROPERTIES PROCESSORS ${arg_CORES} RESOURCE_GROUPS "${arg_CORES},cores:1")
  endif()
  if(arg_LOCK)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK "${arg_LOCK}")
  endif()
  if(arg_SETS_UP)
    set_tests_properties(${name} PROPERTIES FIXTURES_SETUP "${arg_SETS_UP}")
  endif()
  if(arg_NEEDS)
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED "${arg_NEEDS}")
  endif()
endfunction()

# check_python(NAME FILE LABEL COST ...): the tests of one Python file, by pytest; each of them in junit/NAME.xml.
function(check_python name file label cost)
  set(interpreter ${HPCBENCH_PYTEST})
  if(NOT interpreter)
    set(interpreter python3)  # reports what is missing
  endif()
  check(${name} ${label} "${cost}" ${ARGN} COMMAND ${interpreter} -m pytest -q -rs -p no:cacheprovider --junitxml=${HPCBENCH_JUNIT}/${name}.xml ${file})
endfunction()
