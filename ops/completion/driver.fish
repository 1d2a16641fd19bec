# Completion of sluice for fish, made by `sluice completion fish`.

@tables@

function __sluice_complete
  set -l typed (commandline -opc)
  set -l current (commandline -ct)
  set -l way ''
  set -l sources
  set -l place 1
  set -l kind ''
  set -e typed[1]
  while set -q typed[1]
    set -l word $typed[1]
    set -e typed[1]
    switch $word
      case '--apps=*'
        set -a sources (string replace -- --apps= '' $word)
      case '--*=*'
      case '-*'
        set -l takes (__sluice_takes "$way $word")
        if test -n "$takes"
          if not set -q typed[1]
            set kind $takes
            break
          end
          test $word = --apps; and set -a sources $typed[1]
          set -e typed[1]
        end
      case '*'
        if test -n "$(__sluice_commands $way)"
          set way (string trim -- "$way $word")
        else
          set place (math $place + 1)
        end
    end
  end
  if string match -q -- '-*' $current
    __sluice_options $way
    return
  end
  if test -z "$kind"
    if test -n "$(__sluice_commands $way)"
      __sluice_commands $way
      return
    end
    set -l kinds (__sluice_arguments $way)
    if set -q kinds[$place]; and test $kinds[$place] != …
      set kind $kinds[$place]
    else if set -q kinds[2]; and test $kinds[-1] = …
      set kind $kinds[-2]
    end
  end
  switch $kind
    case @file
      __fish_complete_path $current
    case @folder
      __fish_complete_directories $current ''
    case @app
      @names@ apps $sources 2>/dev/null
    case @schedule
      @names@ schedules $sources 2>/dev/null
    case - ''
    case '*'
      string split ' ' -- (string replace -a , ' ' -- $kind)
  end
end

complete -c sluice -f -a '(__sluice_complete)'
