#include "core/input/block_scan.hpp"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "core/machine/simd.hpp"

namespace sluice {
namespace {

constexpr std::size_t group_bytes = 64;   // a bit each
constexpr std::size_t batch_groups = 16;  // whose masks stay in the first-level cache
constexpr std::uint64_t all = ~std::uint64_t{0};

/// Where in a group the bytes are that matter: bit i is byte i.
struct Marks {
    std::uint64_t feeds;
    std::uint64_t nuls;
    std::uint64_t quotes;
    std::uint64_t commas;
    std::uint64_t returns;
};

using FindMarks = void(const char* text, std::size_t groups, Marks* to);

[[gnu::always_inline, gnu::target("arch=x86-64-v4")]] inline std::uint64_t equal_v4(const char* at, char byte) {
    return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(at), _mm512_set1_epi8(byte));
}

[[gnu::always_inline, gnu::target("arch=x86-64-v3")]] inline std::uint64_t equal_v3(const char* at, char byte) {
    std::uint64_t mask = 0;
    for (int part = 0; part < 2; ++part) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(at + 32 * part));
        const int found = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte)));
        mask |= std::uint64_t{static_cast<std::uint32_t>(found)} << (32 * part);
    }
    return mask;
}

[[gnu::always_inline]] inline std::uint64_t equal_plain(const char* at, char byte) {
    std::uint64_t mask = 0;
    for (int part = 0; part < 4; ++part) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(at + 16 * part));
        const int found = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte)));
        mask |= std::uint64_t{static_cast<std::uint32_t>(found)} << (16 * part);
    }
    return mask;
}

[[gnu::target("arch=x86-64-v4")]] void find_marks_v4(const char* text, std::size_t groups, Marks* to) {
    for (const char* at = text; at != text + groups * group_bytes; at += group_bytes) {
        *to++ = {equal_v4(at, '\n'), equal_v4(at, '\0'), equal_v4(at, '"'), equal_v4(at, ','), equal_v4(at, '\r')};
    }
}

[[gnu::target("arch=x86-64-v3")]] void find_marks_v3(const char* text, std::size_t groups, Marks* to) {
    for (const char* at = text; at != text + groups * group_bytes; at += group_bytes) {
        *to++ = {equal_v3(at, '\n'), equal_v3(at, '\0'), equal_v3(at, '"'), equal_v3(at, ','), equal_v3(at, '\r')};
    }
}

void find_marks_plain(const char* text, std::size_t groups, Marks* to) {
    for (const char* at = text; at != text + groups * group_bytes; at += group_bytes) {
        *to++ = {equal_plain(at, '\n'), equal_plain(at, '\0'), equal_plain(at, '"'), equal_plain(at, ','),
                 equal_plain(at, '\r')};
    }
}

/// A block's marks in batches of groups. The last group may reach behind the block: nothing is marked there.
class MarkReader {
public:
    [[gnu::always_inline]] MarkReader(std::string_view block, FindMarks* find) : block_(block), find_(find) {}

    /// Groups whose marks are there now; 0 at the end.
    [[gnu::always_inline]] inline std::size_t next() {
        const std::size_t groups = std::min(block_.size() / group_bytes, batch_groups);
        if (groups > 0) {
            find_(block_.data(), groups, marks_.data());
            block_.remove_prefix(groups * group_bytes);
            return groups;
        }
        if (block_.empty()) {
            return 0;
        }
        std::array<char, group_bytes> padded;
        padded.fill(' ');
        std::memcpy(padded.data(), block_.data(), block_.size());
        valid_ = all >> (group_bytes - block_.size());
        find_(padded.data(), 1, marks_.data());
        block_ = {};
        return 1;
    }

    [[gnu::always_inline]] inline const Marks& operator[](std::size_t group) const { return marks_[group]; }

    /// The bytes of those groups that belong to the block.
    [[gnu::always_inline]] inline std::uint64_t valid() const { return valid_; }

private:
    std::string_view block_;
    FindMarks* find_;
    std::uint64_t valid_ = all;
    std::array<Marks, batch_groups> marks_;
};

[[gnu::always_inline]] inline std::uint32_t bits_of(std::uint64_t mask) {
    return static_cast<std::uint32_t>(__builtin_popcountll(mask));
}

/// The lowest bit and all below.
[[gnu::always_inline]] inline std::uint64_t up_to_lowest(std::uint64_t mask) {
    return mask ^ (mask - 1);
}

/// Bit i: whether the number of bits below i is odd.
[[gnu::always_inline]] inline std::uint64_t parity_below(std::uint64_t mask) {
    std::uint64_t parity = mask ^ mask << 1;
    parity ^= parity << 2;
    parity ^= parity << 4;
    parity ^= parity << 8;
    parity ^= parity << 16;
    parity ^= parity << 32;
    return parity ^ mask;
}

void start(BlockScan& scan) {
    for (BlockRecords& records : scan.records) {
        records.ends.clear();
        records.first_commas = 0;
        records.last_commas = 0;
        records.is_malformed = false;
    }
    scan.line_feeds = 0;
    scan.has_odd_quotes = false;
}

[[gnu::always_inline]] inline void scan_lines_with(FindMarks* find, std::string_view block, BlockScan& to) {
    start(to);
    MarkReader marks(block, find);
    BlockRecords& lines = to.records.front();
    std::uint32_t begin = 0;
    while (const std::size_t groups = marks.next()) {
        for (std::size_t group = 0; group < groups; ++group, begin += group_bytes) {
            if (marks[group].nuls != 0) {
                lines.is_malformed = true;
                return;
            }
            for (std::uint64_t feeds = marks[group].feeds; feeds != 0; feeds &= feeds - 1) {
                ++to.line_feeds;
                lines.ends.push_back({begin + static_cast<std::uint32_t>(std::countr_zero(feeds)) + 1, to.line_feeds});
            }
        }
    }
}

/// One of the two ways to see a block of comma-separated values.
class CsvView {
public:
    struct Group {
        std::uint32_t begin;         ///< In the block.
        std::uint32_t feeds_before;  ///< Line feeds in the block before the group.
        std::uint64_t feeds;
        std::uint64_t commas;
    };

    [[gnu::always_inline]] CsvView(BlockRecords& records, std::uint64_t columns)
        : records_(records), columns_(columns) {}

    [[gnu::always_inline]] inline void add(const Group& group, std::uint64_t outside, std::uint64_t wrong) {
        is_good_ = is_good_ && wrong == 0;
        if (!is_good_) {
            return;
        }
        std::uint64_t feeds = group.feeds & outside;
        std::uint64_t commas = group.commas & outside;
        while (feeds != 0) {
            const std::uint64_t record = up_to_lowest(feeds);
            commas_ += bits_of(commas & record);
            if (records_.ends.empty()) {
                records_.first_commas = commas_;
            } else if (commas_ + 1 != columns_) {
                is_good_ = false;
                return;
            }
            commas_ = 0;
            records_.ends.push_back(
                {group.begin + bits_of(record), group.feeds_before + bits_of(group.feeds & record)});
            feeds &= ~record;
            commas &= ~record;
        }
        commas_ += bits_of(commas);
    }

    [[gnu::always_inline]] inline void finish() {
        records_.last_commas = commas_;
        records_.is_malformed = !is_good_;
    }

private:
    BlockRecords& records_;
    std::uint64_t columns_;
    std::uint64_t commas_ = 0;
    bool is_good_ = true;  // so far
};

/// Every rule of the format but the number of columns concerns two neighbours, and holds outside quotes alone: a quote
/// opens behind a comma, a line feed or, as the second of two, a quote; behind a closing quote comes one of those or a
/// carriage return; behind a carriage return comes a line feed.
[[gnu::always_inline]] inline void scan_csv_with(FindMarks* find, std::string_view block, char before,
                                                 std::uint64_t columns, BlockScan& to) {
    start(to);
    MarkReader marks(block, find);
    CsvView from_outside(to.records[0], columns);
    CsvView from_inside(to.records[1], columns);
    std::uint64_t quote_before = before == '"' ? 1 : 0;
    std::uint64_t return_before = before == '\r' ? 1 : 0;
    std::uint64_t opener_before = before == ',' || before == '\n' || before == '"' ? 1 : 0;
    std::uint64_t odd = 0;  // all bits: so many quotes before the group
    std::uint32_t begin = 0;
    std::uint32_t line_feeds = 0;
    while (const std::size_t groups = marks.next()) {
        for (std::size_t group = 0; group < groups; ++group, begin += group_bytes) {
            const auto [feeds, nuls, quotes, commas, returns] = marks[group];
            const std::uint64_t openers = commas | feeds | quotes;
            const std::uint64_t behind_quote = quotes << 1 | quote_before;
            const std::uint64_t behind_return = returns << 1 | return_before;
            const std::uint64_t behind_opener = openers << 1 | opener_before;
            const std::uint64_t wrong = marks.valid() & ((quotes & ~behind_opener) | (behind_return & ~feeds) |
                                                         (behind_quote & ~(openers | returns)));
            const std::uint64_t inside = parity_below(quotes) ^ odd;
            const CsvView::Group seen{begin, line_feeds, feeds, commas};
            from_outside.add(seen, ~inside, (wrong & ~inside) | nuls);
            from_inside.add(seen, inside, (wrong & inside) | nuls);
            line_feeds += bits_of(feeds);
            odd ^= bits_of(quotes) % 2 != 0 ? all : 0;
            quote_before = quotes >> 63;
            return_before = returns >> 63;
            opener_before = openers >> 63;
        }
    }
    from_outside.finish();
    from_inside.finish();
    to.line_feeds = line_feeds;
    to.has_odd_quotes = odd != 0;
}

[[gnu::target("arch=x86-64-v4")]] void scan_lines_v4(std::string_view block, BlockScan& to) {
    scan_lines_with(&find_marks_v4, block, to);
}
[[gnu::target("arch=x86-64-v3")]] void scan_lines_v3(std::string_view block, BlockScan& to) {
    scan_lines_with(&find_marks_v3, block, to);
}
void scan_lines_plain(std::string_view block, BlockScan& to) {
    scan_lines_with(&find_marks_plain, block, to);
}

[[gnu::target("arch=x86-64-v4")]] void scan_csv_v4(std::string_view block, char before, std::uint64_t columns,
                                                   BlockScan& to) {
    scan_csv_with(&find_marks_v4, block, before, columns, to);
}
[[gnu::target("arch=x86-64-v3")]] void scan_csv_v3(std::string_view block, char before, std::uint64_t columns,
                                                   BlockScan& to) {
    scan_csv_with(&find_marks_v3, block, before, columns, to);
}
void scan_csv_plain(std::string_view block, char before, std::uint64_t columns, BlockScan& to) {
    scan_csv_with(&find_marks_plain, block, before, columns, to);
}

constexpr BlockScanner scanner_v4{&scan_lines_v4, &scan_csv_v4};
constexpr BlockScanner scanner_v3{&scan_lines_v3, &scan_csv_v3};
constexpr BlockScanner scanner_plain{&scan_lines_plain, &scan_csv_plain};

}  // namespace

const BlockScanner& block_scanner() {
    static const BlockScanner* const best = for_this_cpu(&scanner_v4, &scanner_v3, &scanner_plain);
    return *best;
}

std::vector<BlockScanner> block_scanners() {
    std::vector<BlockScanner> scanners{scanner_plain};
    if (&block_scanner() != &scanner_plain) {
        scanners.push_back(scanner_v3);
    }
    if (&block_scanner() == &scanner_v4) {
        scanners.push_back(scanner_v4);
    }
    return scanners;
}

}  // namespace sluice
