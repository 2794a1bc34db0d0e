# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0
#
# What the labs' scripts have in common; they read it with `. lib.sh`, after they have set `lab` to their name.

wrong() { # MESSAGE: the command line is wrong
  printf '%s: %s; see %s --help\n' "$lab" "$1" "$0" >&2
  exit 2
}

fail() { # MESSAGE: the lab itself failed, not the command
  printf '%s: %s\n' "$lab" "$1" >&2
  exit 125
}

seconds() { # OPTION TIME: the time in seconds
  local number unit
  [[ $2 =~ ^([0-9]+(\.[0-9]+)?)(ms|s|m|min)?$ ]] || wrong "$1 $2 is no time; write it as 500ms, 3s or 2m"
  number=${BASH_REMATCH[1]} unit=${BASH_REMATCH[3]:-s}
  case $unit in
    ms) awk "BEGIN { print $number / 1000 }" ;;
    s) printf '%s\n' "$number" ;;
    m | min) awk "BEGIN { print $number * 60 }" ;;
  esac
}
