#!/usr/bin/env bash
# Times the wgpu target: bench/gpu.sh [--small] [LAWSON]. Results are checked against the CPU target first, with the same inputs; it ends with 1 if
# some differ, after the others were timed. --small takes
# sizes that a software device manages; what it takes there says nothing about speed.
set -euo pipefail
cd "$(dirname "$0")"
small=
[ "${1:-}" = --small ] && { small=1; shift; }
lawson=$(realpath "${1:-../target/release/lawson}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
device=(--target wgpu)
# How far results may be from those of the CPU target: sums are taken in another order.
near=1e-4
wrong=()

# check FILE ARGS…: the same outputs as on the CPU target.
check() {
  local file=$1; shift
  "$lawson" run "$file" --input random --seed 3 "$@" --target cpu -o "$work/expected.npz" >/dev/null &&
    "$lawson" run "$file" --input random --seed 3 "$@" "${device[@]}" --check "$work/expected.npz" --rtol "$near" --atol "$near" |
      grep -v '^with' | tail -3
}
# time_of NAME FILE REPEAT ARGS…
time_of() {
  local name=$1 file=$2 repeat=$3; shift 3
  echo "== $name"
  check "$file" "$@" || { echo "!! $name is wrong"; wrong+=("$name"); }
  "$lawson" bench "$file" --input random --seed 3 "$@" "${device[@]}" --seconds 0.5 --repeat "$repeat"
}

# sized FILE NAME SIZE: a graph with a number in the place of a symbol, so that kernels are made for it.
sized() {
  sed -E "s/ where $2 >= 1//; s/\[$2\]/[$3]/g; s/\[$2, /[$3, /g; s/, $2\]/, $3]/g" "$1" >"$work/$(basename "$1")"
  echo "$work/$(basename "$1")"
}

"$lawson" devices
if [ -n "$small" ]; then
  sizes=(96 200) floats=65536 rows=64 poles=1024 lists=(16 64) repeat=20 many=20
else
  sizes=(256 1024 4096) floats=67108864 rows=65536 poles=1048576 lists=(64 256 1024) repeat=1000 many=2000
fi
for s in "${sizes[@]}"; do
  r=$repeat; [ "$s" = 4096 ] && r=100
  time_of "matmul $s with bias and ReLU" "$(sized gpu/matmul.law S "$s")" "$r"
done
# In f16, with sums in f32: as matrices, where the device multiplies them. Results differ by a unit in the last place of f16.
near=1e-3
for s in "${sizes[@]}"; do
  r=$repeat; [ "$s" = 4096 ] && r=100
  layer=$(sized gpu/matmul.law S "$s")
  sed -i 's/f32/f16/g' "$layer"
  time_of "matmul $s in f16 with bias and ReLU" "$layer" "$r"
done
near=1e-4
time_of "elementwise chain of $floats floats" "$(sized gpu/elementwise.law N "$floats")" "$repeat"
time_of "softmax of $rows rows of 1024" "$(sized gpu/softmax.law N "$rows")" "$repeat"
time_of "layer norm, GELU, residual of $rows rows of 1024" "$(sized gpu/norm.law N "$rows")" "$repeat"
time_of "CartPole, $poles poles, 100 steps" "$(sized gpu/cartpole.law N "$poles")" "$repeat"
for s in "${lists[@]}"; do
  "$lawson" list random --depth 64 --size "$s" --batch "$s" --no-softmax --seed 1 -o "$work/list.json" >/dev/null
  "$lawson" list lower "$work/list.json" -o "$work/list.law" >/dev/null
  time_of "list of depth 64, size $s" "$work/list.law" "$many"
done
echo "== readback of $floats floats"
"$lawson" bench "$(sized gpu/readback.law N "$floats")" --input random "${device[@]}" --seconds 2
echo "== compile of the list, cold and warm"
export XDG_CACHE_HOME=$work/cache
for what in cold warm; do
  echo "$what $("$lawson" bench "$work/list.law" --input random "${device[@]}" --seconds 0 | grep ^compile)"
done
"$lawson" cache
if [ ${#wrong[@]} -gt 0 ]; then
  printf 'wrong: %s\n' "${wrong[@]}" >&2
  exit 1
fi
