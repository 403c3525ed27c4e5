# SPDX-License-Identifier: MIT
# bash completion for quire
#
# Behind the options of run and measure stands somebody else's command: from
# there on its own completion is used.

_quire_command_offset()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif [ "$COMP_CWORD" -eq "$1" ]; then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
	fi
}

_quire()
{
	local verbs="run measure env doctor bench"
	local keys="--threshold --decay --keep --thp --reserve --thread-min --shards"
	local options with_value="--threshold --decay --keep --thp --reserve \
--thread-min --shards -o --output -n --rounds --rows --warmup --timeout --fail-if"
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local verb=${COMP_WORDS[1]} i

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$verbs --help --version" -- "$cur")
		return
	fi
	case $verb in
	run) options="$keys --strict --output --quiet --verbose --help" ;;
	measure) options="$keys --rounds --rows --warmup --timeout --show --no-record \
--json --output --fail-if --quiet --verbose --help" ;;
	env) options="$keys --shell --docker --systemd --help" ;;
	doctor) options="--json --quiet --help" ;;
	bench) options="--rounds --wait --json --output --quiet --help --size --scale \
--workers --pages --cases --busy --threads --processes --seconds --samples \
--bodies --variants --loops --groups --lru-lock --duration" ;;
	*) return ;;
	esac
	if [ "$verb" = run ] || [ "$verb" = measure ]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) _quire_command_offset $((i + 1)); return ;;
			-*) case " $with_value " in
				*" ${COMP_WORDS[i]} "*) i=$((i + 1)) ;;
				esac ;;
			*) _quire_command_offset "$i"; return ;;
			esac
		done
	fi
	case $prev in
	-o|--output) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--thp) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$cur"); return ;;
	--pages) mapfile -t COMPREPLY < <(compgen -W "4k thp hugetlb" -- "$cur"); return ;;
	--cases) mapfile -t COMPREPLY < <(compgen -W \
		"handmade parallel async split malloc malloc-quire quire quire-lto glibc \
jemalloc mimalloc tcmalloc mempool mempool-inline mmap page charge touch get \
churn reclaim scan" -- "$cur"); return ;;
	--bodies) mapfile -t COMPREPLY < <(compgen -W \
		"kernel-thp span span-zeroed pages pages-aged pages-single pages-pick \
pages-prefetch pages-single-aged pages-pick-aged pages-prefetch-aged" -- "$cur"); return ;;
	--lru-lock) mapfile -t COMPREPLY < <(compgen -W "group node" -- "$cur"); return ;;
	--rows) mapfile -t COMPREPLY < <(compgen -W \
		"thp env jemalloc mimalloc tcmalloc quire" -- "$cur"); return ;;
	--fail-if|--threshold|--decay|--keep|--reserve|--thread-min|--shards|-n|\
	--rounds|--warmup|--timeout|--size|--scale|--workers|--busy|--threads|\
	--processes|--seconds|--samples|--variants|--loops|\
	--groups|--duration|--wait) return ;;
	esac
	if [ "$verb" = bench ] && [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"bigfree page_fault1 page_bench time_bench readtwice lru list all" -- "$cur")
		return
	fi
	if [[ $cur == -* ]] || [ "$verb" = env ] || [ "$verb" = doctor ] || \
		[ "$verb" = bench ]; then
		mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	else
		_quire_command_offset "$COMP_CWORD"
	fi
}

complete -F _quire quire
