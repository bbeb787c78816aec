# Sourced by the get_data scripts.

fail() {
  echo "get_data: $*" >&2
  exit 1
}

# download URL FILE SHA256: downloads URL to FILE in the current directory. An interrupted download continues
# where it stopped. Without SHA256 the checksum of the first download is stored in FILE.sha256 and later
# downloads are compared with it.
download() {
  local url=$1 file=$2 sha256=$3 sum
  if command -v curl >/dev/null; then
    curl --fail --location --continue-at - --retry 3 --connect-timeout 20 --output "$file.part" "$url" ||
      fail "cannot download $url; the part that came is kept in $PWD/$file.part"
  elif command -v wget >/dev/null; then
    wget --continue --tries=3 --timeout=20 --output-document="$file.part" "$url" ||
      fail "cannot download $url; the part that came is kept in $PWD/$file.part"
  else
    fail "neither curl nor wget is installed"
  fi
  sum=$(sha256sum "$file.part" | cut -d' ' -f1)
  if [[ -z "$sha256" && -f "$file.sha256" ]]; then
    sha256=$(cut -d' ' -f1 "$file.sha256")
  fi
  if [[ -n "$sha256" && "$sum" != "$sha256" ]]; then
    rm -f "$file.part"
    fail "$url has the checksum $sum, $sha256 was expected; it was removed"
  fi
  mv "$file.part" "$file"
  echo "$sum  $file" >"$file.sha256"
}
