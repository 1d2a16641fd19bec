#compdef sluice
# Completion of sluice for zsh, made by `sluice completion zsh`.

@tables@

_sluice_described() {
  described=()
  case "$1" in
@described@
  esac
}

# What the words so far come to: way is the command, kind what the next word is, sources what --apps has named.
_sluice_read() {
  way= kind= sources=()
  local word place=0
  local -a kinds
  while (( $# )); do
    word=$1
    shift
    case $word in
      --*=*) [[ $word == --apps=* ]] && sources+=("${word#--apps=}") ;;
      -*)
        _sluice_takes "$way $word"
        if [[ -n $REPLY ]]; then
          (( $# )) || { kind=$REPLY; return }
          [[ $word == --apps ]] && sources+=("$1")
          shift
        fi ;;
      *)
        _sluice_commands "$way"
        if [[ -n $REPLY ]]; then way=${way:+$way }$word; else (( place += 1 )); fi ;;
    esac
  done
  _sluice_commands "$way"
  [[ -n $REPLY ]] && { kind=@command; return }
  _sluice_arguments "$way"
  kinds=(${=REPLY})
  if [[ ${kinds[place+1]:-…} == … ]]; then
    (( $#kinds > 1 && place > 0 )) && [[ $kinds[-1] == … ]] && kind=$kinds[-2]
  else
    kind=$kinds[place+1]
  fi
  kind=${kind//,/ }
}

_sluice() {
  local way kind REPLY
  local -a sources described
  _sluice_read "${(@)words[2,CURRENT-1]}"
  if [[ $PREFIX == -* ]]; then
    _sluice_options "$way"
    compadd -- ${=REPLY}
    return
  fi
  case $kind in
    @command) _sluice_described "$way"; _describe command described ;;
    @file) _files ;;
    @folder) _files -/ ;;
    @app) compadd -- ${(f)"$(@names@ apps $sources 2>/dev/null)"} ;;
    @schedule) compadd -- ${(f)"$(@names@ schedules $sources 2>/dev/null)"} ;;
    -|'') ;;
    *) compadd -- ${=kind} ;;
  esac
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _sluice "$@"
else
  compdef _sluice sluice
fi
