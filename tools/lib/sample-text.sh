# shellcheck shell=bash
# Real English text that every Debian machine with this project's packages has: the licences of the package base-files,
# and perldiag, the explanations of Perl's messages, of perl-modules, which build-essential brings along.

# write_sample_text FILE: a CSV with the columns source and text, a paragraph an item. Prints the number of items.
write_sample_text() {
    local licences=/usr/share/common-licenses files=() name pod
    for name in Artistic Apache-2.0 CC0-1.0 GFDL-1.3 GPL-1 GPL-2 GPL-3 LGPL-2.1 LGPL-3 MPL-2.0; do
        if [ -r "$licences/$name" ]; then
            files+=("$licences/$name")
        fi
    done
    for pod in /usr/share/perl/5.*/pod/perldiag.pod; do
        if [ -r "$pod" ]; then
            files+=("$pod")
            break
        fi
    done
    if [ ${#files[@]} -eq 0 ]; then
        return 1
    fi
    awk '
        BEGIN { RS = ""; print "source,text" }
        {
            gsub(/[ \t\r\n\f]+/, " ")
            sub(/^ /, "")
            sub(/ $/, "")
            if (FILENAME ~ /\.pod$/) {          # perlpod: commands are no text, C<...> is markup
                if ($0 ~ /^=/) next
                gsub(/E<lt>/, "\001")
                gsub(/E<gt>/, "\002")
                gsub(/[BCEFILSX]<+ ?/, "")
                gsub(/ ?>+/, "")
                gsub(/\001/, "<")
                gsub(/\002/, ">")
            }
        }
        length($0) >= 60 && /[a-z] [a-z]+ [a-z]/ && !seen[$0]++ {
            gsub(/"/, "\"\"")
            parts = split(FILENAME, part, "/")
            printf "%s,\"%s\"\n", part[parts], $0
        }' "${files[@]}" >"$1"
    awk 'END { print NR - 1 }' "$1"
}
