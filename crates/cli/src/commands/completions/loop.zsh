#compdef loop
# Completions of loop for zsh, written by: loop completions zsh
_loop() {
    local line also= word remark
    local -a found values
    while IFS= read -r line; do
        if [[ -z $also ]]; then
            also=$line
            continue
        fi
        word=${line%%$'\t'*}
        remark=${line#*$'\t'}
        if [[ $word == *= ]]; then values+=("$word"); else found+=("${word//:/\\:}:$remark"); fi
    done < <(command loop __complete zsh "${(@)words[1,CURRENT]}" 2>/dev/null)
    (( ${#found} )) && _describe -V 'loop' found
    (( ${#values} )) && compadd -S '' -- "${values[@]}"
    case $also in
        files) _files ;;
        folders) _files -/ ;;
    esac
    return 0
}
if [[ ${funcstack[1]} == _loop ]]; then
    _loop "$@"
else
    compdef _loop loop
fi
