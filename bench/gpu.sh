#!/usr/bin/env bash
# Times the wgpu target: bench/gpu.sh [--small] [LAWSON]. Results are checked against the CPU target first, with the same inputs. --small takes
# sizes that a software device manages; what it takes there says nothing about speed.
set -euo pipefail
cd "$(dirname "$0")"
small=
[ "${1:-}" = --small ] && { small=1; shift; }
lawson=$(realpath "${1:-../target/release/lawson}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
device=(--target wgpu)

# check FILE ARGS…: the same outputs as on the CPU target.
check() {
  local file=$1; shift
  "$lawson" run "$file" --input random --seed 3 "$@" --target cpu -o "$work/expected.npz" >/dev/null
  "$lawson" run "$file" --input random --seed 3 "$@" "${device[@]}" --check "$work/expected.npz" --rtol 1e-4 --atol 1e-4 |
    grep -v '^with' | tail -3
}
# time_of NAME FILE REPEAT ARGS…
time_of() {
  local name=$1 file=$2 repeat=$3; shift 3
  echo "== $name"
  check "$file" "$@" || echo "!! $name is wrong"
  "$lawson" bench "$file" --input random --seed 3 "$@" "${device[@]}" --seconds 0.5 --repeat "$repeat"
}

"$lawson" devices
if [ -n "$small" ]; then
  sizes=(96 200) floats=65536 rows=64 poles=1024 lists=(16 64) repeat=20 many=20
else
  sizes=(256 1024 4096) floats=67108864 rows=65536 poles=1048576 lists=(64 256 1024) repeat=1000 many=2000
fi
for s in "${sizes[@]}"; do
  r=$repeat; [ "$s" = 4096 ] && r=100
  time_of "matmul $s with bias and ReLU" gpu/matmul.law "$r" --bind "S=$s"
done
time_of "elementwise chain of $floats floats" gpu/elementwise.law "$repeat" --bind "N=$floats"
time_of "softmax of $rows rows of 1024" gpu/softmax.law "$repeat" --bind "N=$rows"
time_of "layer norm, GELU, residual of $rows rows of 1024" gpu/norm.law "$repeat" --bind "N=$rows"
time_of "CartPole, $poles poles, 100 steps" gpu/cartpole.law "$repeat" --bind "N=$poles"
for s in "${lists[@]}"; do
  "$lawson" list random --depth 64 --size "$s" --batch "$s" --no-softmax --seed 1 -o "$work/list.json" >/dev/null
  "$lawson" list lower "$work/list.json" -o "$work/list.law" >/dev/null
  time_of "list of depth 64, size $s" "$work/list.law" "$many"
done
echo "== readback of $floats floats"
sed "s/\[N\]/[$floats]/g" gpu/readback.law >"$work/readback.law"
"$lawson" bench "$work/readback.law" --input random "${device[@]}" --seconds 2
echo "== compile of the list, cold and warm"
export XDG_CACHE_HOME=$work/cache
for what in cold warm; do
  echo "$what $("$lawson" bench "$work/list.law" --input random "${device[@]}" --seconds 0 | grep ^compile)"
done
"$lawson" cache
