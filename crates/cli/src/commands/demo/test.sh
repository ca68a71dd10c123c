# The promise of the demo: exits 0 when all tests pass.
. ./calc.sh
failed=0
check() {
    if [ "$2" = "$3" ]; then
        echo "ok    $1"
    else
        echo "FAIL  $1: got '$2', wanted '$3'"
        failed=$((failed + 1))
    fi
}
check "add 2 3" "$(add 2 3)" 5
check "multiply 4 5" "$(multiply 4 5)" 20
check "greet Ada" "$(greet Ada)" "Hello, Ada"
[ "$failed" -eq 0 ] || echo "$failed of 3 tests fail"
exit "$failed"
