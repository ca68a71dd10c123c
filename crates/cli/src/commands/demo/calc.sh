# A tiny library, with three mistakes in it.
add() { echo $(($1)); }
multiply() { echo $(($1 + $2)); }
greet() { echo "Hello"; }
