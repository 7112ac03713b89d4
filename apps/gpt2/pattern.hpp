#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::gpt2 {

/// Of the library and of its Unicode, which says what letters and digits are: "10.42 2022-12-11, Unicode 14.0.0".
[[nodiscard]] std::string pcre2_version();

/// A regular expression in PCRE2's syntax, with Unicode's classes, compiled to machine code where PCRE2 can. Immutable;
/// thread-safe.
class Pattern {
public:
    explicit Pattern(std::string_view expression);
    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    /// Matches in one text.
    class Search {
    public:
        /// Both must outlive the search; `text` is well-formed UTF-8. Throws std::bad_alloc.
        Search(const Pattern& pattern, std::string_view text);
        Search(const Search&) = delete;
        Search& operator=(const Search&) = delete;
        ~Search();

        /// Where the match that begins at `at` ends. Throws std::bad_alloc.
        [[nodiscard]] std::optional<std::size_t> end_of_match(std::size_t at);

    private:
        struct Memory;
        const Pattern& pattern_;
        std::string_view text_;
        std::unique_ptr<Memory> memory_;
    };

private:
    struct Code;

    std::unique_ptr<const Code> code_;
};

}  // namespace sluice::gpt2
