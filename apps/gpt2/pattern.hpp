#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::gpt2 {

/// A regular expression in PCRE2's syntax, compiled to machine code where PCRE2 can. Immutable; thread-safe.
class Pattern {
public:
    /// Matches well-formed UTF-8, with Unicode's classes, where a search begins only.
    [[nodiscard]] static Pattern anchored_in_utf8(std::string_view expression);

    /// Finds any of `texts` in any bytes: the leftmost, of several there the longest.
    [[nodiscard]] static Pattern of_texts(std::span<const std::string> texts);

    Pattern(Pattern&&) noexcept;
    Pattern& operator=(Pattern&&) noexcept;
    ~Pattern();

    struct Match {
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    /// Searches one text.
    class Search {
    public:
        /// Both must outlive the search. Throws std::bad_alloc.
        Search(const Pattern& pattern, std::string_view text);
        Search(const Search&) = delete;
        Search& operator=(const Search&) = delete;
        ~Search();

        /// The first match from `at` on. Throws std::bad_alloc.
        [[nodiscard]] std::optional<Match> from(std::size_t at);

    private:
        struct Memory;
        const Pattern& pattern_;
        std::string_view text_;
        std::unique_ptr<Memory> memory_;
    };

private:
    struct Code;
    explicit Pattern(std::unique_ptr<const Code> code);

    std::unique_ptr<const Code> code_;
};

}  // namespace sluice::gpt2
