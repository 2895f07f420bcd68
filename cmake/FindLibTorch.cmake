# LibTorch by path: the target LibTorch::LibTorch, and LibTorch_INCLUDE_DIR, LibTorch_LIBRARY_DIR, LibTorch_VERSION.
#
# Not TorchConfig.cmake: that of a CUDA wheel stops where there is no CUDA toolkit, and it adds flags of its own. The folder is
#   1. HPCBENCH_TORCH_DIR, a cache variable or an environment variable: the folder that holds include/ and lib/
#   2. the package `torch` of the active python3
#   3. the package `torch` in ${CMAKE_SOURCE_DIR}/.venv
# HPCBENCH_CUDA AUTO becomes ON where the LibTorch has libtorch_cuda, else OFF. With ON, libtorch_cuda, libc10_cuda, the CUDA
# runtime, and the headers of CUDA and NCCL are used as well; CudaHeaders.cmake lists the searched folders.
#
# The ABI of std::string: wheels since torch 2.6 and all LibTorch archives of today use the compiler's own (_GLIBCXX_USE_CXX11_ABI=1),
# so nothing is defined here; an older wheel is refused by the version check.

set(HPCBENCH_TORCH_DIR "$ENV{HPCBENCH_TORCH_DIR}" CACHE PATH "LibTorch: the folder that holds include/ and lib/ (empty: the python package torch)")

function(_libtorch_of_python interpreter result)
  execute_process(COMMAND ${interpreter} -c "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND EXISTS "${folder}/lib")
    set(${result} "${folder}" PARENT_SCOPE)
  endif()
endfunction()

set(_libtorch_dir "${HPCBENCH_TORCH_DIR}")
if(NOT _libtorch_dir)
  set(_libtorch_dir "$ENV{HPCBENCH_TORCH_DIR}")  # set since a configure that found none
endif()
if(NOT _libtorch_dir)
  _libtorch_of_python(python3 _libtorch_dir)
endif()
if(NOT _libtorch_dir AND EXISTS "${CMAKE_SOURCE_DIR}/.venv/bin/python3")
  _libtorch_of_python("${CMAKE_SOURCE_DIR}/.venv/bin/python3" _libtorch_dir)
endif()

set(LibTorch_INCLUDE_DIR "${_libtorch_dir}/include")
set(LibTorch_LIBRARY_DIR "${_libtorch_dir}/lib")
if(HPCBENCH_CUDA STREQUAL "AUTO")
  set(HPCBENCH_CUDA OFF)
  if(_libtorch_dir AND EXISTS "${LibTorch_LIBRARY_DIR}/libtorch_cuda${CMAKE_SHARED_LIBRARY_SUFFIX}")
    set(HPCBENCH_CUDA ON)
  endif()
endif()
set(_libtorch_libraries torch torch_cpu c10)
if(HPCBENCH_CUDA)
  list(APPEND _libtorch_libraries torch_cuda c10_cuda)
endif()
set(_libtorch_files "")
foreach(_library IN LISTS _libtorch_libraries)
  set(_file "${LibTorch_LIBRARY_DIR}/lib${_library}${CMAKE_SHARED_LIBRARY_SUFFIX}")
  if(_libtorch_dir AND NOT EXISTS "${_file}")
    message(WARNING "${_libtorch_dir} is no LibTorch that can be used: ${_file} is missing")
    set(_libtorch_dir "")
  endif()
  list(APPEND _libtorch_files "${_file}")
endforeach()

if(_libtorch_dir AND HPCBENCH_CUDA)
  include(CudaHeaders)
  find_cuda_headers("${_libtorch_dir}")
  if(CUDA_HEADERS_MISSING)
    list(JOIN CUDA_HEADERS_MISSING ", " _missing)
    if(CUDA_HEADERS_PACKAGES)
      list(JOIN CUDA_HEADERS_PACKAGES "' '" _packages)
      set(_remedy "`pip install '${_packages}'` in torch's environment brings them (scripts/setup.sh does so in .venv), as does a toolkit of CUDA ${CUDA_HEADERS_VERSION} named by CUDA_HOME, with NCCL's headers")
    else()
      set(_remedy "install the CUDA toolkit of this LibTorch and NCCL's headers, and name it by CUDA_HOME")
    endif()
    message(WARNING "${_libtorch_dir} is a LibTorch with CUDA, but of CUDA's own files these are missing: ${_missing}. ${_remedy}. Or build without GPUs: -DHPCBENCH_CUDA=OFF")
    set(_libtorch_dir "")
  endif()
endif()

foreach(_header torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(_libtorch_dir AND NOT LibTorch_VERSION AND EXISTS "${LibTorch_INCLUDE_DIR}/${_header}")
    file(STRINGS "${LibTorch_INCLUDE_DIR}/${_header}" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" _numbers "${_lines}")
    list(JOIN _numbers "." LibTorch_VERSION)
  endif()
endforeach()
if(_libtorch_dir AND LibTorch_VERSION VERSION_LESS 2.11)
  message(WARNING "${_libtorch_dir} is LibTorch ${LibTorch_VERSION}; 2.11 or newer is needed")
  set(_libtorch_dir "")
endif()

include(FindPackageHandleStandardArgs)
set(LibTorch_DIR_FOUND "${_libtorch_dir}")
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_DIR_FOUND LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run scripts/setup.sh, or `pip install torch==2.13.0`, or name one with -DHPCBENCH_TORCH_DIR=DIR, or build hpcbench without the trainer (-DHPCBENCH_TRAINER=OFF)")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  # SYSTEM: its headers do not pass our warnings.
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE
    "${LibTorch_INCLUDE_DIR}" "${LibTorch_INCLUDE_DIR}/torch/csrc/api/include")
  # libtorch.so itself only names the others; with --as-needed a linker would drop it, and CUDA with it.
  target_link_libraries(LibTorch::LibTorch INTERFACE -Wl,--no-as-needed ${_libtorch_files} -Wl,--as-needed)
  set_property(TARGET LibTorch::LibTorch APPEND PROPERTY INTERFACE_LINK_OPTIONS "-Wl,-rpath,${LibTorch_LIBRARY_DIR}")
  # at::parallel_for is a header: compiled without OpenMP it silently calls its work on one thread. The runtime that LibTorch brings is
  # linked, if any: two runtimes in one process would have a pool of threads each.
  target_compile_options(LibTorch::LibTorch INTERFACE -fopenmp)
  file(GLOB _libtorch_openmp "${LibTorch_LIBRARY_DIR}/libgomp*.so*")
  if(_libtorch_openmp)
    list(GET _libtorch_openmp 0 _libtorch_openmp)
    target_link_libraries(LibTorch::LibTorch INTERFACE "${_libtorch_openmp}")
  else()
    target_link_libraries(LibTorch::LibTorch INTERFACE -fopenmp)
  endif()
  if(HPCBENCH_CUDA)
    target_compile_definitions(LibTorch::LibTorch INTERFACE USE_C10D_NCCL)
    target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${CUDA_HEADERS_DIRS})
    # The RUNPATH of libtorch_cuda finds its own dependencies when the program starts.
    get_filename_component(_cudart_dir "${CUDA_HEADERS_CUDART}" DIRECTORY)
    target_link_libraries(LibTorch::LibTorch INTERFACE "${CUDA_HEADERS_CUDART}" -Wl,--allow-shlib-undefined "-Wl,-rpath,${_cudart_dir}")
  endif()
endif()
