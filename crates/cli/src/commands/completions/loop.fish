# Completions of loop for fish, written by: loop completions fish
function __loop_complete
    set -l current (commandline -ct)
    set -l found (command loop __complete fish (commandline -opc) "$current" 2>/dev/null)
    test (count $found) -gt 0; or return
    switch $found[1]
        case files
            __fish_complete_path "$current"
        case folders
            __fish_complete_directories "$current"
    end
    for line in $found[2..-1]
        echo $line
    end
end
complete -c loop -f -k -a '(__loop_complete)'
