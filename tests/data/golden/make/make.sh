#!/usr/bin/env bash
# Regenerates the golden stores from scratch:  make.sh OUTPUT_DIR [NAME ...]   (no NAME: all of them)
# Needs: Java 17, Maven, Python 3.11. PEER names another launcher than tests/support/peer/peer.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:?OUTPUT_DIR}" && cd "$1" && pwd); shift
peer=${PEER:-$here/../../../support/peer/peer}
work=${WORK:-$(mktemp -d)}; mkdir -p "$work"
export PEER_NS_PORT=${PEER_NS_PORT:-29876} PEER_PORT=${PEER_PORT:-30911} PEER_HEAP=${PEER_HEAP:-256m}
wanted=" $* "
broker_host=127.0.0.1
current=""
trap '[ -z "$current" ] || { "$peer" stop "$current/a"; "$peer" stop "$current/b"; }' EXIT

# another set: other seed, topic prefix, archive name prefix, file sizes; VARIANT=true changes counts and adds the mix stores
seed=${SEED:-20240501} names=${NAMES:-Shop} prefix=${PREFIX:-} variant=${VARIANT:-false}
log=${LOG_SIZE:-65536} cq=${CQ_SIZE:-4000} slots=${SLOTS:-1000} items=${ITEMS:-3000}

classes() { # VERSION -> directory of the compiled generator
  local dir="$work/classes-$1"
  [ -d "$dir" ] || { mkdir -p "$dir"; javac -d "$dir" -cp "$("$peer" cp "$1")" "$here"/*.java; }
  echo "$dir"
}
golden() { # VERSION ARGS...
  local v=$1; shift
  timeout 300 java -Xmx256m -Duser.home="$work/home" -Dns=127.0.0.1:"$PEER_NS_PORT" -Dbroker="$broker_host:$PEER_PORT" -Dseed="$seed" -Dnames="$names" \
    -Dextra="${extra:-}" -Dvariant="$variant" -Dv5="$([[ $v == 5.* ]] && echo true || echo false)" \
    -Drocketmq.client.logLevel=ERROR -cp "$(classes "$v"):$("$peer" cp "$v")" Golden "$@" >>"$work/golden.log" 2>&1
}
halt() { # waits for the end of a slow shutdown; 5.x may take half a minute
  local pid; pid=$(cat "$1/broker.pid"); "$peer" stop "$1"
  for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || return 0; sleep 0.2; done; echo "broker $pid did not stop" >&2; return 1
}
unpack() { rm -rf "$2"; mkdir -p "$2/store"; tar -xzf "$1" -C "$2/store"; }
wants() { [ "$wanted" = "  " ] || [[ $wanted == *" $1 "* ]]; }

# store NAME VERSION SCENARIO TRUTH SETTINGS...
#   TRUTH live: described before the stop (delayed messages go on being delivered afterwards);
#   restart: described by a broker reopened on the unpacked archive. Both are taken where possible and compared.
store() {
  local name=$prefix$1 version=$2 scenario=$3 truth=$4; wants "$1" || return 0; shift 4
  local dir=$work/$name settings=("$@") quiet=()
  [[ $version == 5.* ]] && settings+=(mappedFileSizeTimerLog=8192)
  rm -rf "$dir"; mkdir -p "$dir"; current=$dir
  echo "$(date +%T) $name ($version)"
  "$peer" start "$version" "$dir/a" "${settings[@]}" >/dev/null
  case $scenario in
    crash)
      : >"$dir/load.jsonl"
      golden "$version" load crash "$dir/load.jsonl" & local loader=$!
      while [ "$(wc -l <"$dir/load.jsonl")" -lt 700 ]; do sleep 0.05; done
      "$peer" kill "$dir/a"; wait "$loader" || true ;; # the producers give up by themselves
    *)
      golden "$version" load "$scenario" "$dir/load.jsonl"
      [ "$scenario" = transaction ] || golden "$version" dump "$dir/live.jsonl"
      halt "$dir/a" ;;
  esac
  [ "$scenario" = cleaned ] && clean "$version" "$dir" "${settings[@]}"
  [ "$scenario" = transaction ] && quiet=(transactionCheckInterval=3600000 transactionTimeOut=3600000)
  python3 "$here/stores.py" pack "$dir/a/store" "$out/$name.tar.gz"
  reopen "$version" "$out/$name.tar.gz" "$dir/b" "$dir/restart.jsonl" "${settings[@]}" "${quiet[@]}"
  python3 "$here/stores.py" describe "$name" "$version" "$truth" "${settings[*]}" "$dir" "$out/$name.expected.json.gz"
  ls -l "$out/$name.tar.gz" | awk '{print "  archive " $5 " bytes"}'
}
reopen() { # VERSION ARCHIVE DIR JOURNAL SETTINGS...
  local version=$1 dir=$3 file=$4; unpack "$2" "$dir"; shift 4
  "$peer" start "$version" "$dir" "$@" >/dev/null
  golden "$version" dump "$file"; halt "$dir"
}
# The crash store again, with its last record half written.
torn() { # VERSION SETTINGS...
  local name=${prefix}torn version=$1 dir=$work/${prefix}torn; wants torn || return 0; shift
  echo "$(date +%T) $name ($version)"; rm -rf "$dir"; current=$dir
  unpack "$out/${prefix}crash.tar.gz" "$dir/a"
  cp "$work/${prefix}crash/load.jsonl" "$dir/"
  python3 "$here/stores.py" tear "$dir/a/store"
  python3 "$here/stores.py" pack "$dir/a/store" "$out/$name.tar.gz"
  reopen "$version" "$out/$name.tar.gz" "$dir/b" "$dir/restart.jsonl" "$@"
  python3 "$here/stores.py" describe "$name" "$version" restart "$*" "$dir" "$out/$name.expected.json.gz"
}
# Opens an archive with another version: cross NAME VERSION prints whether it serves the same messages.
cross() {
  local name=$prefix$1 version=$2 dir=$work/cross-$prefix$1 settings; current=$dir
  settings=$(python3 "$here/stores.py" settings "$out/$name.expected.json.gz")
  # shellcheck disable=SC2086
  reopen "$version" "$out/$name.tar.gz" "$dir/b" "$work/cross.jsonl" $settings transactionCheckInterval=3600000
  python3 "$here/stores.py" cross "$out/$name.expected.json.gz" "$version" "$work/cross.jsonl"
}
# Ages the oldest commit-log files and lets the broker's own cleaner (first run one minute after start) remove them.
clean() {
  local version=$1 dir=$2; shift 2
  mv "$dir/live.jsonl" "$dir/before-cleaning.jsonl"
  ls "$dir/a/store/commitlog" | head -n 4 | while read -r f; do touch -d '5 days ago' "$dir/a/store/commitlog/$f"; done
  "$peer" start "$version" "$dir/a" "$@" "deleteWhen=$(seq -s';' -w 0 23)" fileReservedTime=72 >/dev/null
  sleep 68; golden "$version" dump "$dir/live.jsonl"; halt "$dir/a"
}

if [[ $wanted == *" cross "* ]]; then # of archives that exist already
  for pair in normal:5.3.3 transaction:5.3.3 consume:5.3.3 delay:5.3.3 crash:5.3.3 cleaned:5.3.3 filter:5.3.3 normal-5:4.9.4; do
    [ ! -e "$out/$prefix${pair%:*}.tar.gz" ] || cross "${pair%:*}" "${pair#*:}" || echo "  ${pair%:*}: $pair failed"
  done
  exit
fi
base=(mappedFileSizeCommitLog=$log mappedFileSizeConsumeQueue=$cq maxHashSlotNum=$slots maxIndexNum=$items)
small=(mappedFileSizeCommitLog=$((log / 4)) mappedFileSizeConsumeQueue=$((cq / 4)) maxHashSlotNum=$((slots / 7)) maxIndexNum=$((items / 10)))
tx=(transactionTimeOut=2000 transactionCheckInterval=2000 transactionCheckMax=6)
for v in 4.9.4 5.3.3; do
  s=""; [ $v = 5.3.3 ] && s=-5
  store normal$s $v normal restart "${base[@]}"
  store delay$s $v delay live "${small[@]}"
  store transaction$s $v transaction restart "${small[@]}" "${tx[@]}"
  store consume$s $v consume live "${small[@]}" enablePropertyFilter=true
done
store crash 4.9.4 crash restart "${base[@]}"
torn 4.9.4 "${base[@]}"
store cleaned 4.9.4 cleaned restart "${base[@]}"
store bigkeys 4.9.4 bigkeys restart mappedFileSizeCommitLog=524288 mappedFileSizeConsumeQueue=40000 maxHashSlotNum=$((slots / 4)) maxIndexNum=6000
store filter 4.9.4 filter restart "${small[@]}" enablePropertyFilter=true enableConsumeQueueExt=true enableCalcFilterBitMap=true mappedFileSizeConsumeQueueExt=4096
[ "$variant" = false ] || store mix 4.9.4 mix live "${base[@]}" enablePropertyFilter=true
[ "$variant" = false ] || store mix-5 5.3.3 mix live "${base[@]}" enablePropertyFilter=true
extra=%LMQ%$names-a,%LMQ%$names-b
store lmq 4.9.4 lmq restart "${small[@]}" enableLmq=true enableMultiDispatch=true
extra=
broker_host=::1
store ipv6 4.9.4 ipv6 live "${small[@]}" brokerIP1=::1
