# How targets are made here: one function each for a stage, a program and a test.
#
# A stage is compiled as one unit (unity build): its headers, and the templates of fmt and nlohmann-json that all its files
# use, are then read and instantiated once. So file-local names must be distinct within a stage.

set(HPCBENCH_STAGES base expressions spec plan jube render launch submit ingest scan store stats report study recognise cli)
# A stage is one folder of runner/, or one of these: folders that are compiled as one unit.
set(HPCBENCH_ROOMS_spec yaml spec/keys spec spec/preparations spec/values spec/starter)
set(HPCBENCH_ROOMS_launch runfiles launch)
file(GLOB executors RELATIVE ${CMAKE_SOURCE_DIR}/runner CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/runner/executors/*)
set(HPCBENCH_ROOMS_submit submit ${executors})
set(HPCBENCH_ROOMS_report report report/latex report/formats report/plots report/warnings report/comparison)
set(HPCBENCH_ROOMS_study study/blocks study/kept study imports archive doctor)
set(HPCBENCH_ROOMS_cli cli cli/completion cli/formats)
set(HPCBENCH_WARNINGS -Wall -Wextra -Wpedantic)
# Compilers newer than those of the tests give more warnings: users' builds must continue. g++ 13 warns falsely about array bounds in fmt 9.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  list(APPEND HPCBENCH_WARNINGS -Wno-array-bounds -Wno-stringop-overflow)
else()
  list(APPEND HPCBENCH_WARNINGS -Werror)
endif()
# g++ 12 at -O3 warns falsely about overlapping strings.
list(APPEND HPCBENCH_WARNINGS $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict>)

# GCC's garbage collection takes an eighth of the time to compile a unit; without it a unit takes up to 2.2 GB.
set(HPCBENCH_COMPILER_MEMORY $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1000000>)

function(hpcbench_options target)
  target_compile_options(${target} PRIVATE ${HPCBENCH_WARNINGS} ${HPCBENCH_COMPILER_MEMORY})
  if(HPCBENCH_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${HPCBENCH_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${HPCBENCH_SANITIZE})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HPCBENCH_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# hpcbench_rooms(VARIABLE NAME): the folders of a stage.
function(hpcbench_rooms variable name)
  if(DEFINED HPCBENCH_ROOMS_${name})
    set(${variable} ${HPCBENCH_ROOMS_${name}} PARENT_SCOPE)
  else()
    set(${variable} ${name} PARENT_SCOPE)
  endif()
endfunction()

# hpcbench_stage(NAME LIBRARIES...): the static library of one stage.
function(hpcbench_stage name)
  hpcbench_rooms(rooms ${name})
  list(TRANSFORM rooms PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM rooms APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${rooms})
  if(NOT sources)
    add_library(hpcbench_${name} INTERFACE)
    target_include_directories(hpcbench_${name} INTERFACE ${CMAKE_SOURCE_DIR}/runner)
    target_link_libraries(hpcbench_${name} INTERFACE ${ARGN})
    return()
  endif()
  add_library(hpcbench_${name} STATIC ${sources})
  hpcbench_options(hpcbench_${name})
  target_include_directories(hpcbench_${name} PUBLIC ${CMAKE_SOURCE_DIR}/runner)
  target_link_libraries(hpcbench_${name} PUBLIC ${ARGN})
endfunction()

# Tests are compiled once and run once: less optimisation is faster. g++ 12 warns falsely about array bounds.
function(hpcbench_test_options target)
  target_compile_options(${target} PRIVATE -O0 $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-restrict>)
endfunction()

# hpcbench_test(NAME FOLDERS LIBRARIES...): one program, test_NAME, from all files of some folders (a list).
function(hpcbench_test name folders)
  list(TRANSFORM folders APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS ${folders})
  add_executable(test_${name} ${sources})
  hpcbench_options(test_${name})
  hpcbench_test_options(test_${name})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE HPCBENCH_SOURCE_DIR="${CMAKE_SOURCE_DIR}" HPCBENCH_PROGRAMS="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(test_${name} PRIVATE ${ARGN})
endfunction()
