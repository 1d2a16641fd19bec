# Completion of sluice for bash, made by `sluice completion bash`.

@tables@

# What the words so far come to: way is the command, kind what the next word is, sources what --apps has named.
_sluice_read() {
  way= kind= sources=()
  local word place=0
  while (($#)); do
    word=$1
    shift
    case $word in
      --*=*) [[ $word == --apps=* ]] && sources+=("${word#--apps=}") ;;
      -*)
        _sluice_takes "$way $word"
        if [[ -n $REPLY ]]; then
          (($#)) || { kind=$REPLY; return; }
          [[ $word == --apps ]] && sources+=("$1")
          shift
        fi ;;
      *)
        _sluice_commands "$way"
        if [[ -n $REPLY ]]; then way=${way:+$way }$word; else ((place += 1)); fi ;;
    esac
  done
  _sluice_commands "$way"
  [[ -n $REPLY ]] && { kind=$REPLY; return; }
  _sluice_arguments "$way"
  local kinds=($REPLY)
  if [[ ${kinds[place]:-…} == … ]]; then
    ((${#kinds[@]} > 1)) && [[ ${kinds[${#kinds[@]} - 1]} == … && $place -gt 0 ]] && kind=${kinds[${#kinds[@]} - 2]}
  else
    kind=${kinds[place]}
  fi
  kind=${kind//,/ }
}

_sluice() {
  local way kind REPLY IFS=$' \t\n' cur=${COMP_WORDS[COMP_CWORD]}
  local -a sources
  _sluice_read "${COMP_WORDS[@]:1:COMP_CWORD-1}"
  COMPREPLY=()
  case $cur in
    -*) _sluice_options "$way"; COMPREPLY=($(compgen -W "$REPLY" -- "$cur")); return ;;
  esac
  case $kind in
    @file) compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur")) ;;
    @folder) compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur")) ;;
    @app) COMPREPLY=($(compgen -W "$(@names@ apps "${sources[@]}" 2>/dev/null)" -- "$cur")) ;;
    @schedule) COMPREPLY=($(compgen -W "$(@names@ schedules "${sources[@]}" 2>/dev/null)" -- "$cur")) ;;
    -|'') ;;
    *) COMPREPLY=($(compgen -W "$kind" -- "$cur")) ;;
  esac
}

complete -F _sluice sluice
