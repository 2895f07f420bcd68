# The checks that are no doctest programs; see cmake/HpcbenchChecks.cmake for what the words mean.
if(HPCBENCH_LONG_TESTS)
  set(fuzz_s 300)
  set(local_trials 100)
  set(slurm_trials 200 --long)
else()
  set(fuzz_s 20)
  set(local_trials 20)
  set(slurm_trials 12)
endif()

# The real program, as a user calls it.
set(cost_labs 20)
set(cost_export 15)
set(cost_watch 25)
set(cost_study 20)
set(cost_hostile 25)
set(cost_squad 40)
set(cost_demo 65)
set(cost_example 30)
file(GLOB files CONFIGURE_DEPENDS e2e/*_test.py)
foreach(file IN LISTS files)
  get_filename_component(word ${file} NAME)
  string(REGEX REPLACE "_test.py$" "" word ${word})
  string(REPLACE "_" "-" name ${word})
  set(waits "")
  if(word MATCHES "^(watch|hostile|get_data)$")
    set(waits WAITS)
  endif()
  check_python(e2e-${name} ${file} e2e 5${cost_${word}} ${waits})
endforeach()
check(e2e-fault-trials e2e 40 COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/e2e/fault_trials.py --trials ${local_trials} --seed 1)
if(HPCBENCH_TRAINER)
  # The demo measures times: nothing else of ours runs meanwhile.
  set_tests_properties(e2e-demo PROPERTIES PROCESSORS ${HPCBENCH_CORES})
endif()

foreach(word agree kept study suites trainers)
  check_python(bench-${word} ${CMAKE_CURRENT_SOURCE_DIR}/bench/${word}_test.py bench 10)
endforeach()

# Comparisons with Hugging Face's packages, which are installed into build/venv-huggingface; skipped where they cannot be had.
check(huggingface-venv huggingface 60 SETS_UP huggingface COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/huggingface/venv.sh)
foreach(word golden tokenizer score training evaluation tensorboard)
  check(huggingface-${word} huggingface 50 NEEDS huggingface COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/huggingface/test.sh ${word})
endforeach()

# A real Slurm, started and stopped by the tests; skipped where it is not installed. They mostly wait. The first one shows that one
# can be started here, which is what the others need.
check_python(slurm-cluster ${CMAKE_CURRENT_SOURCE_DIR}/slurm/cluster_test.py slurm 60 WAITS SETS_UP slurm)
check_python(slurm-studies ${CMAKE_CURRENT_SOURCE_DIR}/slurm/slurm_test.py slurm 190 WAITS NEEDS slurm)
check_python(slurm-outcomes ${CMAKE_CURRENT_SOURCE_DIR}/slurm/outcome_test.py slurm 180 WAITS NEEDS slurm)
check_python(slurm-watch ${CMAKE_CURRENT_SOURCE_DIR}/slurm/watch_test.py slurm 100 WAITS NEEDS slurm)
check_python(slurm-recipes ${CMAKE_CURRENT_SOURCE_DIR}/slurm/recipe_test.py slurm 100 WAITS NEEDS slurm)
check(slurm-faults slurm 170 WAITS NEEDS slurm
  COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/slurm/fault_trials.py --clusters 2 --seed 1 --trials ${slurm_trials})

# CUDA's sources against CUDA's and NCCL's headers; skipped where these cannot be had.
check(cuda-compile cuda 60 COMMAND ${CMAKE_SOURCE_DIR}/scripts/check-cuda.sh)
# Where the build finds these headers; the trainer on GPUs that only count, which takes 1.8 GB of wheels and a build of its own: with --long.
check_python(cuda-headers ${CMAKE_CURRENT_SOURCE_DIR}/gpu/headers_test.py cuda 5)
check_python(cuda-null-gpu ${CMAKE_CURRENT_SOURCE_DIR}/gpu/null_gpu_test.py cuda 5 CORES ${HPCBENCH_CORES})

# One build under sanitizers, for the runner's tests and for the fuzzers.
set(asan ${CMAKE_SOURCE_DIR}/build/asan)
check(asan-build sanitizer 400 CORES ${HPCBENCH_CORES} LIMIT 2400 SETS_UP asan COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/sanitizer_build.sh)
foreach(stage IN LISTS HPCBENCH_STAGES)
  if(TARGET test_${stage})
    check(asan-${stage} sanitizer 10${cost_${stage}} NEEDS asan COMMAND ${asan}/bin/test_${stage})
  endif()
endforeach()
file(GLOB corpora CONFIGURE_DEPENDS fuzz/corpus/*)
foreach(corpus IN LISTS corpora)
  get_filename_component(word ${corpus} NAME)
  check(fuzz-${word} fuzz ${fuzz_s} NEEDS asan COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/run.sh ${asan}/bin ${fuzz_s} ${word})
endforeach()

# What reads the sources alone.
check(format lint 5 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/format.sh)
check(shell lint 5 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/shell.sh)
check_python(checks ${CMAKE_CURRENT_SOURCE_DIR}/check_test.py lint 5)
check(arrows lint 1 COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/arch/check_arrows.py)
check(tidy-commandline lint 20 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/tidy.sh shared/CMakeFiles/hpcbench_commandline.dir)
set(apart_base ${CMAKE_SOURCE_DIR}/runner/base/process.cpp ${CMAKE_SOURCE_DIR}/runner/base/log.cpp)
foreach(stage IN LISTS HPCBENCH_STAGES)
  check(tidy-${stage} lint 20${cost_${stage}} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/tidy.sh runner/CMakeFiles/hpcbench_${stage}.dir ${apart_${stage}})
endforeach()
if(HPCBENCH_TRAINER)
  foreach(library squad trainer_base)
    check(tidy-${library} lint 30 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/tidy.sh trainers/CMakeFiles/hpcbench_${library}.dir)
  endforeach()
endif()
check(includes lint 150 CORES ${HPCBENCH_CORES} LIMIT 2400 COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/lint/includes.py)

if(HPCBENCH_LONG_TESTS)
  check(bench long 1000 CORES ${HPCBENCH_CORES} COMMAND bench/run.sh runner local reports roofs --quick)
  check(bench-slurm long 1000 CORES ${HPCBENCH_CORES} NEEDS slurm COMMAND bench/run.sh slurm)
endif()
