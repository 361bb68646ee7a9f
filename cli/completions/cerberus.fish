# fish completion of cerberus.
set -l verbs convert convert-wheel split list extract compile verify run doctor cache
set -l targets gfx1030 gfx1100 gfx1201 gfx90a gfx942 gfx950
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a convert -d 'convert a CUDA program or library'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a convert-wheel -d 'convert a Python wheel with CUDA libraries'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a split -d "take a HIP program's code into archives"
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a list -d 'show the device code in a file'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a extract -d 'write the PTX and machine code in a file to files'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a compile -d 'compile one PTX file to one code object'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a verify -d 'check a converted file against its original'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a run -d 'run a program that was not converted'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a doctor -d 'say what programs run on, and if a file is ready'
complete -c cerberus -n "not __fish_seen_subcommand_from $verbs" -f -a cache -d 'show or prune the code compiled at run time'

complete -c cerberus -s q -l quiet -d 'print errors only'
complete -c cerberus -s v -l verbose -d 'say more'
complete -c cerberus -l json -d 'report on stdout as JSON'
complete -c cerberus -l color -x -a 'auto always never' -d 'when to use colour'
complete -c cerberus -s h -l help -d 'show the options'
complete -c cerberus -l help-all -d 'show all options'

for both in convert compile
    complete -c cerberus -n "__fish_seen_subcommand_from $both" -s o -l output -r -d 'output file'
    complete -c cerberus -n "__fish_seen_subcommand_from $both" -l arch -x -a "$targets" -d 'target ids'
    complete -c cerberus -n "__fish_seen_subcommand_from $both" -s k -l keep-going -d 'leave out kernels that fail'
    complete -c cerberus -n "__fish_seen_subcommand_from $both" -l shared-overflow -x -a 'error global' -d "shared memory above the hardware's"
    complete -c cerberus -n "__fish_seen_subcommand_from $both" -l lanes -x -a 'auto serial' -d "how lanes that wait go on"
end
complete -c cerberus -n '__fish_seen_subcommand_from list' -l kernels -d 'list entries and kernels, not a summary'
complete -c cerberus -n '__fish_seen_subcommand_from list extract' -l filter -x -d 'kernels that match an expression'
complete -c cerberus -n '__fish_seen_subcommand_from extract' -s o -l output -r -d 'folder, made new'
complete -c cerberus -n '__fish_seen_subcommand_from extract' -l kind -x -a 'ptx cubin lto-ir hsaco' -d 'what to write'
complete -c cerberus -n '__fish_seen_subcommand_from split' -s o -l output -r -d 'the split file'
complete -c cerberus -n '__fish_seen_subcommand_from split' -l arch -x -a "$targets" -d 'target ids'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -s d -l dir -r -d 'folder for the new wheels'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l name -x -d 'name of the host wheel'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l stub -x -a 'bundle require' -d 'the CUDA driver stub'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l arch -x -a "$targets" -d 'target ids'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l strict -d 'fail if a kernel or library cannot be converted'
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l shared-overflow -x -a 'error global' -d "shared memory above the hardware's"
complete -c cerberus -n '__fish_seen_subcommand_from convert-wheel' -l lanes -x -a 'auto serial' -d "how lanes that wait go on"
complete -c cerberus -n '__fish_seen_subcommand_from convert' -l group -x -d 'name of the archives'
complete -c cerberus -n '__fish_seen_subcommand_from convert' -l bundle -d 'put all that the output needs beside it'
complete -c cerberus -n '__fish_seen_subcommand_from convert' -l keep-fatbin -d 'the output runs on NVIDIA GPUs too'
complete -c cerberus -n '__fish_seen_subcommand_from convert convert-wheel split' -s n -l dry-run -d 'print what would change'
complete -c cerberus -n '__fish_seen_subcommand_from convert convert-wheel' -s j -l jobs -x -d 'compilers at a time'
complete -c cerberus -n '__fish_seen_subcommand_from convert convert-wheel' -l in-process -d 'compile without child processes'
complete -c cerberus -n '__fish_seen_subcommand_from convert convert-wheel' -l compile-seconds -x -d 'processor time for a kernel'
complete -c cerberus -n '__fish_seen_subcommand_from convert convert-wheel' -l compile-memory -x -d 'memory limit for one module'
complete -c cerberus -n '__fish_seen_subcommand_from compile' -l emit -x -a 'hsaco obj asm ll ll-raw' -d 'what to write'
complete -c cerberus -n '__fish_seen_subcommand_from compile' -s O -x -a '0 1 2 3' -d 'optimisation'
complete -c cerberus -n '__fish_seen_subcommand_from compile' -s j -l jobs -x -d 'threads for a large module'
complete -c cerberus -n '__fish_seen_subcommand_from compile' -l verify-each -d 'check the IR after every pass'
complete -c cerberus -n '__fish_seen_subcommand_from convert compile' -l time-trace -r -d 'write where the time went as JSON trace events'
complete -c cerberus -n '__fish_seen_subcommand_from run' -l device -x -a "auto hip nvidia emulator $targets" -d 'what to run on'
complete -c cerberus -n '__fish_seen_subcommand_from run' -l log -x -a 'error warn info debug' -d 'how much is said'
complete -c cerberus -n '__fish_seen_subcommand_from cache' -l prune -x -d 'remove what was longest unused'
complete -c cerberus -n '__fish_seen_subcommand_from cache' -l clear -d 'remove everything'
