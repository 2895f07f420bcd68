# Run when hpcbench is built and when it is installed: writes the output of the program HPCBENCH about itself into HPCBENCH_SHARE.
function(printed_into file)
  execute_process(COMMAND ${HPCBENCH} ${ARGN} OUTPUT_FILE ${HPCBENCH_SHARE}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(folder bash-completion/completions zsh/site-functions fish/vendor_completions.d hpcbench/schema)
  file(MAKE_DIRECTORY ${HPCBENCH_SHARE}/${folder})
endforeach()
printed_into(hpcbench/schema/experiment.json schema experiment)
printed_into(hpcbench/schema/site.json schema site)
printed_into(bash-completion/completions/hpcbench completion bash)
printed_into(zsh/site-functions/_hpcbench completion zsh)
printed_into(fish/vendor_completions.d/hpcbench.fish completion fish)
execute_process(COMMAND ${HPCBENCH} man --out ${HPCBENCH_SHARE}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
