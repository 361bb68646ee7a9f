# bash completion of cerberus; installed where bash-completion looks for it.
_cerberus() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
  local verb=${COMP_WORDS[1]} options
  local common='--quiet --verbose --json --color --help --help-all'
  [[ ${COMP_WORDS[0]##*/} == cerberus-convert ]] && verb=convert
  if [[ $verb != convert || ${COMP_WORDS[0]##*/} == cerberus ]] &&
    ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W 'convert convert-wheel split list extract compile verify run doctor cache \
      --help --version' -- "$cur"))
    return
  fi
  case $prev in
    --arch)
      COMPREPLY=($(compgen -W 'gfx1030 gfx1100 gfx1201 gfx90a gfx942 gfx950' \
        -- "$cur"))
      return ;;
    --kind) COMPREPLY=($(compgen -W 'ptx cubin lto-ir hsaco' -- "$cur"))
      return ;;
    --emit) COMPREPLY=($(compgen -W 'hsaco obj asm ll ll-raw' -- "$cur"))
      return ;;
    --device)
      COMPREPLY=($(compgen -W 'auto hip nvidia emulator gfx1030 gfx1100 gfx1201
        gfx90a gfx942 gfx950' -- "$cur"))
      return ;;
    --log) COMPREPLY=($(compgen -W 'error warn info debug' -- "$cur"))
      return ;;
    --stub) COMPREPLY=($(compgen -W 'bundle require' -- "$cur")); return ;;
    --shared-overflow)
      COMPREPLY=($(compgen -W 'error global' -- "$cur"))
      return ;;
    --lanes) COMPREPLY=($(compgen -W 'auto serial' -- "$cur")); return ;;
    --color) COMPREPLY=($(compgen -W 'auto always never' -- "$cur")); return ;;
  esac
  case $verb in
    convert) options='--output --group --bundle --arch --keep-fatbin
      --dry-run --keep-going --jobs --shared-overflow --lanes --in-process
      --compile-seconds --compile-memory --time-trace' ;;
    convert-wheel) options='--dir --name --stub --arch --dry-run --strict
      --jobs --shared-overflow --lanes --in-process --compile-seconds
      --compile-memory' ;;
    split) options='--output --arch --dry-run' ;;
    list) options='--kernels --filter' ;;
    extract) options='--output --kind --filter' ;;
    run) options='--device --log' ;;
    cache) options='--prune --clear' ;;
    compile) options='--output --emit --arch --keep-going --jobs
      --shared-overflow --lanes --verify-each --time-trace' ;;
  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options $common" -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _cerberus cerberus cerberus-convert
