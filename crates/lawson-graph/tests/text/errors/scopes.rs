//! Mistakes about what is known where: symbols, facts and bodies.

use super::check;

#[test]
fn facts_that_contradict_are_pointed_at() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> (y: f32[N]) where N >= 4, N < 3 {
  return %x
}",
        r"
error[E0114]: the fact `N < 3` contradicts what is already known
  --> <text>:2:51
  |
2 | graph @f(%x: f32[N]) -> (y: f32[N]) where N >= 4, N < 3 {
  |                                                   ^^^^^
  help: no value of the symbols satisfies all facts; remove one
",
    );
}

#[test]
fn dimensions_that_may_be_negative_are_pointed_at() {
    check(
        r"lawson 1
graph @f(%x: f32[N - 4]) -> (y: f32[N - 4]) {
  return %x
}",
        r"
error[E0107]: the dimension `N - 4` may be negative
  --> input `x`
  --> <text>:2:14
  |
2 | graph @f(%x: f32[N - 4]) -> (y: f32[N - 4]) {
  |              ^^^^^^^^^^
  help: say that it never is: `where N - 4 >= 0`
",
    );
}

#[test]
fn sub_graphs_do_not_see_values_around_them() {
    check(
        r"lawson 1
graph @f(%c: bool[], %x: f32[N]) -> (y: f32[N]) {
  %y = cond %c, %x then(%a: f32[N]) { return %x } else(%a: f32[N]) { return %a }
  return %y
}",
        r"
error[E0113]: there is no value `%x` here
  --> <text>:3:46
  |
3 |   %y = cond %c, %x then(%a: f32[N]) { return %x } else(%a: f32[N]) { return %a }
  |                                              ^^
  help: a sub-graph sees its own inputs only: give `%x` to the operator and take it as an input
",
    );
}

#[test]
fn missing_sub_graphs_are_named() {
    check(
        r"lawson 1
graph @f(%c: bool[], %x: f32[N]) -> (y: f32[N]) {
  %y = cond %c, %x then(%a: f32[N]) { return %a }
  return %y
}",
        r"
error[E0110]: `cond` needs a sub-graph `else`
  --> <text>:3:8
  |
3 |   %y = cond %c, %x then(%a: f32[N]) { return %a }
  |        ^^^^
",
    );
}

#[test]
fn symbols_are_defined_by_an_input_or_an_operator() {
    check(
        r"lawson 1
graph @f(%x: f32[2]) -> (y: i64[N]) {
  %y = iota {dtype = i64, shape = [N], axis = 0}
  return %y
}",
        r"
error[E0111]: nothing defines the symbol `N`
  --> node `%y` (`iota`) of graph `@f`
  --> <text>:3:3
  |
3 |   %y = iota {dtype = i64, shape = [N], axis = 0}
  |   ^^
  help: give it to an input's shape, or define it with a `symbol` operator before its first use
",
    );
}

#[test]
fn symbols_of_facts_are_defined() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> () where N <= M { return }",
        r"
error[E0111]: nothing defines the symbol `M`, which stands in the fact `N <= M`
  --> <text>:2:7
  |
2 | graph @f(%x: f32[N]) -> () where N <= M { return }
  |       ^^
  help: give it to an input's shape, or define it with a `symbol` operator before its first use
",
    );
}

#[test]
fn bodies_state_only_what_follows_from_what_is_stated_around_them() {
    check(
        r"lawson 1
graph @f(%c: bool[], %x: f32[N]) -> (y: f32[N]) where N >= 4 {
  %y = cond %c, %x
    then(%x: f32[N]) where N >= 6 { return %x }
    else(%x: f32[N]) { return %x }
  return %y
}",
        r"
error[E0110]: in the sub-graph `then`: the body `then` states `N >= 6`, which does not follow around it
  --> node `%y` (`cond`) of graph `@f`
  --> <text>:3:3
  |
3 |   %y = cond %c, %x
  |   ^^
",
    );
}

#[test]
fn bodies_have_no_state() {
    check(
        r"lawson 1
graph @f(%c: bool[], %x: f32[N]) -> (y: f32[N]) {
  %y = cond %c, %x
    then(%x: f32[N]) -> (first: f32[N] in %x) { return %x }
    else(%x: f32[N]) { return %x }
  return %y
}",
        r"
error[E0305]: in the sub-graph `then`: a body of a loop or branch cannot have state
  --> output `first`
  --> node `%y` (`cond`) of graph `@f`
  --> <text>:3:3
  |
3 |   %y = cond %c, %x
  |   ^^
",
    );
}

#[test]
fn symbols_of_bodies_are_defined() {
    check(
        r"lawson 1
graph @f(%c: bool[], %x: f32[N]) -> (y: f32[N]) {
  %y = cond %c, %x
    then(%x: f32[N]) {
      %i = iota {dtype = i64, shape = [M], axis = 0}
      return %x
    }
    else(%x: f32[N]) { return %x }
  return %y
}",
        r"
error[E0111]: in the sub-graph `then`: nothing defines the symbol `M`
  --> node `%i` (`iota`) of graph `@then`
  --> node `%y` (`cond`) of graph `@f`
  --> <text>:3:3
  |
3 |   %y = cond %c, %x
  |   ^^
  help: give it to an input's shape, or define it with a `symbol` operator before its first use
",
    );
}
