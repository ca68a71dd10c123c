# Completions of loop for bash, written by: loop completions bash
_loop_complete() {
    local line also=
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $also ]]; then also=$line; else COMPREPLY+=("${line%%$'\t'*}"); fi
    done < <(command loop __complete bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)
    if [[ $also == files || $also == folders ]]; then
        compopt -o filenames 2>/dev/null
        local kind=-f
        [[ $also == folders ]] && kind=-d
        while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "${COMP_WORDS[COMP_CWORD]}")
    fi
    # A value follows the sign.
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o nosort -F _loop_complete loop 2>/dev/null || complete -F _loop_complete loop
