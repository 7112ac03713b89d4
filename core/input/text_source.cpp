#include "core/input/format_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/input/checked.hpp"
#include "core/input/framing.hpp"
#include "core/input/growth.hpp"
#include "core/input/record_index.hpp"
#include "core/input/record_reader.hpp"
#include "core/input/record_text.hpp"
#include "core/input/stretch_cache.hpp"
#include "core/text/wording.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

/// More than most headers and first records have.
constexpr std::size_t header_window = 4096;

/// Work space of one read.
struct Scratch {
    std::vector<CsvField> fields;
    std::string joined;
};

/// Where the text begins: behind a UTF-8 byte order mark.
std::uint64_t start_of_text(const InputFile& file) {
    constexpr std::array<unsigned char, 4> utf32_little{0xFF, 0xFE, 0, 0};
    constexpr std::array<unsigned char, 4> utf32_big{0, 0, 0xFE, 0xFF};
    constexpr std::uint64_t utf8_mark = 3;
    std::array<unsigned char, 4> start = {};
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(start.size(), file.size()));
    file.read(0, std::as_writable_bytes(std::span(start).first(bytes)));
    if (bytes == start.size() && (start == utf32_little || start == utf32_big)) {  // begins as UTF-16 does
        file.reject("E-INP-031", "this is UTF-32 text (expected UTF-8)", "convert it: iconv -f UTF-32 -t UTF-8");
    }
    if ((start[0] == 0xFF && start[1] == 0xFE) || (start[0] == 0xFE && start[1] == 0xFF)) {
        file.reject("E-INP-031", "this is UTF-16 text (expected UTF-8)", "convert it: iconv -f UTF-16 -t UTF-8");
    }
    return start[0] == 0xEF && start[1] == 0xBB && start[2] == 0xBF ? utf8_mark : 0;
}

struct TxtFormat {
    using Framing = LineFraming;
    [[nodiscard]] std::string form() const { return {}; }
    [[nodiscard]] LineFraming framing() const { return {}; }
    [[nodiscard]] std::size_t width() const { return 0; }
    [[nodiscard]] std::string_view text(std::string_view record, Scratch&) const { return record; }
};

struct JsonlFormat {
    using Framing = LineFraming;
    std::vector<std::string> columns{};
    bool takes_arrays = false;

    [[nodiscard]] std::string form() const { return {}; }
    [[nodiscard]] LineFraming framing() const { return {}; }
    [[nodiscard]] std::size_t width() const { return 0; }
    [[nodiscard]] std::string_view text(std::string_view record, Scratch& scratch) const {
        join_json(record, columns, takes_arrays, scratch.joined);
        return scratch.joined;
    }
};

struct CsvFormat {
    using Framing = CsvFraming;
    CsvColumns columns;
    std::size_t columns_of_record = 0;
    std::string columns_in_words;  // if an item is made of all of them

    [[nodiscard]] std::string form() const { return columns_in_words; }
    [[nodiscard]] CsvFraming framing() const { return CsvFraming(columns_of_record); }
    [[nodiscard]] std::size_t width() const { return columns_of_record; }
    [[nodiscard]] std::string_view text(std::string_view record, Scratch& scratch) const {
        return columns.text(record, scratch.fields, scratch.joined);
    }
};

/// Of the first of `items_each` items; of no items, 0.
std::uint64_t record_of(std::uint64_t item, std::uint64_t items_each) noexcept {
    return items_each == 0 ? 0 : item / items_each;
}

template <class Format>
class TextSource final : public GrowingSource<FileSource> {
public:
    TextSource(std::shared_ptr<const InputFile> file, const RecordRange& range, Format format, const ItemCodec& codec,
               const TextOptions& options)
        : file_(std::move(file)),
          format_(std::move(format)),
          codec_(codec),
          items_each_(range.items_each),
          first_record_(range.item),
          longest_text_(codec.longest_text().value_or(SIZE_MAX)),
          bytes_opening_(file_->bytes_read()),
          text_bytes_(range.end - range.begin),
          index_({.record = 0, .offset = range.begin, .line = range.line}) {
        const auto find = [this, range, threads = options.threads] { find_all(range, threads); };
        if (options.beside) {
            thread_ = std::jthread([find] {
                name_this_thread("index");
                find();
            });
        } else {
            const std::stop_callback give_up(options.stop, [this] { growth_.give_up(); });
            find();
            static_cast<void>(growth_.known());
            bytes_indexed_ = file_->bytes_read();
        }
    }
    ~TextSource() override { growth_.give_up(); }

    [[nodiscard]] std::optional<Interval> indexed_beside() const override {
        return bytes_indexed_ ? std::nullopt : growth_.time();
    }
    [[nodiscard]] std::uint64_t estimate_count() const noexcept override {
        return growth_.look([this] {
            const std::uint64_t found = index_.count();
            const auto bytes_each = found == 0 ? static_cast<double>(least_record())
                                               : static_cast<double>(index_.bytes()) / static_cast<double>(found);
            const auto records = static_cast<std::uint64_t>(static_cast<double>(text_bytes_) / bytes_each);
            return (growth_.is_complete() ? found : std::max(found, records)) * items_each_;
        });
    }
    [[nodiscard]] std::uint64_t upper_bound() const override {
        return multiply(text_bytes_ / least_record() + 1, items_each_);
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return growth_.look([this] { return index_.bytes(); });
    }
    [[nodiscard]] InputReads reads() const noexcept override {
        const std::uint64_t indexing = bytes_indexed_.value_or(bytes_opening_ + bytes());
        return {.file = file_->size(), .indexing = indexing, .items = file_->bytes_read() - indexing};
    }
    [[nodiscard]] std::uint32_t granularity() const noexcept override {
        constexpr std::uint64_t most = 1024;  // a chunk is to have several parts
        const std::uint64_t records = growth_.look([this] { return index_.granularity(); });
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(records * items_each_, 1, most));
    }

    void number_from(std::uint64_t first) noexcept override { first_record_ = record_of(first, items_each_); }
    [[nodiscard]] std::string form() const override { return format_.form(); }
    [[nodiscard]] const InputFile& file() const noexcept override { return *file_; }

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        const std::uint64_t readable = growth_.look([this] { return index_.count(); }) * items_each_;
        expects(first <= readable && count <= readable - first, "ItemSource::read stays inside the known items");
        expects(to.size() == count * item_bytes, "ItemSource::read has room for exactly its items");
        if (count == 0) {
            return 0;
        }
        const std::uint64_t end = first + count;
        std::uint32_t cut = 0;
        for (std::uint64_t at = first; at < end;) {
            const std::uint64_t record = at / items_each_;
            const auto [begin, behind] =
                growth_.look([&, this] { return std::pair(index_.place_before(record), index_.place_behind(record)); });
            const bool is_whole = at == begin * items_each_ && behind * items_each_ <= end;
            const std::uint64_t stop =
                is_whole ? place_before(end / items_each_) * items_each_ : std::min(end, behind * items_each_);
            const auto items = to.subspan((at - first) * item_bytes, (stop - at) * item_bytes);
            cut += is_whole ? read_whole(at, stop, items) : read_part(begin, behind, at, stop, items);
            at = stop;
        }
        file_->check_unchanged();
        return cut;
    }

private:
    using Reader = RecordReader<typename Format::Framing>;

    /// Bytes of commas and a line feed.
    [[nodiscard]] std::uint64_t least_record() const noexcept { return std::max<std::uint64_t>(format_.width(), 1); }

    void find_all(const RecordRange& range, std::uint32_t threads) {
        growth_.run([&](const std::stop_token& stop) {
            const auto add = [this](std::span<const RecordIndex::Checkpoint> further) {
                growth_.grow([&] {
                    index_.extend(further);
                    return multiply(index_.count(), items_each_);
                });
            };
            find_records(*file_, range, format_.width(), {.threads = threads}, add, stop);
        });
    }

    [[nodiscard]] std::uint64_t place_before(std::uint64_t record) const {
        return growth_.look([&, this] { return index_.place_before(record); });
    }

    [[nodiscard]] static std::uint64_t multiply(std::uint64_t records, std::uint64_t items_each) {
        const std::optional<std::uint64_t> items = checked_multiply(records, items_each);
        if (!items || *items > most_items) {
            throw Error(ExitCode::configuration, {"E-CFG-011", "input.count",
                                                  fmt::format("got {} items of each of at least {} records, "
                                                              "expected at most {} in all",
                                                              items_each, records, most_items),
                                                  "lower input.count, or cut the input into several jobs"});
        }
        return *items;
    }

    /// Items [first, end), which are all of one place to begin or several.
    std::uint32_t read_whole(std::uint64_t first, std::uint64_t end, std::span<std::byte> to) const {
        const std::uint64_t records = (end - first) / items_each_;
        Reader reader(*file_, range_of(first / items_each_, records), format_.framing());
        Scratch scratch;
        std::uint32_t cut = 0;
        for (std::uint64_t at = first; at < end; at += items_each_) {
            const Record record = take(reader);
            cut += encode(at, at + items_each_, text_of(at / items_each_, record, scratch), to);
        }
        return cut;
    }

    /// Items [first, end) of the records [begin, behind) between two places, of which others are wanted too.
    std::uint32_t read_part(std::uint64_t begin, std::uint64_t behind, std::uint64_t first, std::uint64_t end,
                            std::span<std::byte> to) const {
        const auto load = [&] { return load_stretch(begin, behind - begin); };
        const auto stretch = shared_.take(begin, (behind - begin) * items_each_, end - first, load);
        Scratch scratch;
        std::uint32_t cut = 0;
        for (std::uint64_t at = first; at < end;) {
            const std::uint64_t number = at / items_each_;
            const std::uint64_t stop = std::min(end, (number + 1) * items_each_);
            const RecordStretch::Place& place = stretch->records[number - begin];
            const Record record{std::string_view(stretch->text).substr(place.offset, place.length), place.line};
            cut += encode(at, stop, text_of(number, record, scratch), to);
            at = stop;
        }
        return cut;
    }

    [[nodiscard]] RecordStretch load_stretch(std::uint64_t first, std::uint64_t records) const {
        const RecordRange range = range_of(first, records);
        Reader reader(*file_, range, format_.framing());
        RecordStretch stretch;
        stretch.text.reserve(range.end - range.begin);
        stretch.records.reserve(records);
        for (std::uint64_t i = 0; i < records; ++i) {
            const Record record = take(reader);
            stretch.records.push_back({stretch.text.size(), record.text.size(), record.line});
            stretch.text += record.text;
        }
        return stretch;
    }

    [[nodiscard]] RecordRange range_of(std::uint64_t first, std::uint64_t records) const {
        RecordRange range = growth_.look([&, this] { return index_.range_of(first, records); });
        range.item += first_record_;
        range.items_each = items_each_;
        return range;
    }

    /// Items [first, end) of a record whose text is `text`, to the front of `to`, which then begins behind them.
    /// Returns for how many of them the text is cut: none or all.
    std::uint32_t encode(std::uint64_t first, std::uint64_t end, std::string_view text,
                         std::span<std::byte>& to) const {
        const std::size_t item_bytes = codec_.shape().input_bytes;
        for (std::uint64_t at = first; at < end; ++at) {
            codec_.encode(first_record_ * items_each_ + at, text, to.first(item_bytes));
            to = to.subspan(item_bytes);
        }
        return text.size() > longest_text_ ? static_cast<std::uint32_t>(end - first) : 0;
    }

    [[nodiscard]] Record take(Reader& reader) const {
        const std::optional<Record> record = reader.next();
        if (!record) {
            file_->check_unchanged();
            file_->reject("E-INP-034", "changed while running (fewer items than when it was opened)",
                          "do not change the input while a job reads it");
        }
        return *record;
    }

    [[nodiscard]] std::string_view text_of(std::uint64_t number, const Record& record, Scratch& scratch) const {
        try {
            const std::string_view text = format_.text(record.text, scratch);
            if (const ItemProblem problem = codec_.check_text(text)) {
                throw RecordProblem{"E-INP-032", problem.what, problem.advice()};
            }
            return text;
        } catch (const RecordProblem& problem) {
            reject_record(*file_, first_record_ + number, items_each_, record.line, problem);
        }
    }

    std::shared_ptr<const InputFile> file_;
    Format format_;
    const ItemCodec& codec_;
    std::uint64_t items_each_;  // made of a record
    std::uint64_t first_record_;
    std::size_t longest_text_;
    std::uint64_t bytes_opening_;                 // read from the file before it was indexed
    std::optional<std::uint64_t> bytes_indexed_;  // nullopt: beside reads of items
    std::uint64_t text_bytes_;
    RecordIndex index_;  // whose growth it is
    mutable StretchCache shared_;
    std::jthread thread_;  // that indexes beside reads
};

template <class Format>
std::unique_ptr<FileSource> make_source(std::shared_ptr<const InputFile> file, const RecordRange& range, Format format,
                                        const ItemCodec& codec, const TextOptions& options) {
    return std::make_unique<TextSource<Format>>(std::move(file), range, std::move(format), codec, options);
}

RecordRange all_of(const InputFile& file, const JobConfig::Input& input, const TextOptions& options) {
    const std::uint64_t items_each = input.count.value_or(1);
    return {.begin = start_of_text(file),
            .end = file.size(),
            .item = record_of(options.first_item, items_each),
            .items_each = items_each};
}

/// What other files must have, too, where all columns make an item.
std::string in_words(std::size_t columns, const std::vector<std::string>& header) {
    std::string names;
    for (const std::string& name : header) {
        names += fmt::format("{} {}", names.empty() ? ":" : ",", quoted(name));
    }
    return count_of(columns, "column") + names;
}

}  // namespace

std::unique_ptr<FileSource> make_txt_source(std::shared_ptr<const InputFile> file, const JobConfig::Input& input,
                                            const ItemCodec& codec, const TextOptions& options) {
    const RecordRange range = all_of(*file, input, options);
    return make_source(std::move(file), range, TxtFormat(), codec, options);
}

std::unique_ptr<FileSource> make_jsonl_source(std::shared_ptr<const InputFile> file, const JobConfig::Input& input,
                                              const ItemCodec& codec, const TextOptions& options) {
    const RecordRange range = all_of(*file, input, options);
    JsonlFormat format{.takes_arrays = codec.takes_integers_as_text()};
    for (const ColumnRef& column : input.columns) {
        const auto* name = std::get_if<std::string>(&column);
        expects(name != nullptr, "the columns of a .jsonl are names");
        format.columns.push_back(*name);
    }
    expects(!format.columns.empty(), "a .jsonl needs columns");
    return make_source(std::move(file), range, std::move(format), codec, options);
}

std::unique_ptr<FileSource> make_csv_source(std::shared_ptr<const InputFile> file, const JobConfig::Input& input,
                                            const ItemCodec& codec, const TextOptions& options) {
    RecordRange range = all_of(*file, input, options);
    const std::uint64_t first_record = std::exchange(range.item, input.header ? header_item : range.item);
    RecordReader reader(*file, range, CsvFraming(0), header_window);
    CsvFormat format;
    if (const std::optional<Record> first = reader.next()) {
        std::vector<CsvField> fields;
        split_csv(first->text, fields);
        std::vector<std::string> header(input.header ? fields.size() : 0);
        for (std::size_t i = 0; i < header.size(); ++i) {
            append_csv(fields[i], header[i]);
        }
        try {
            format = {CsvColumns(input.columns, fields.size(), header), fields.size(),
                      input.columns.empty() ? in_words(fields.size(), header) : std::string()};
        } catch (const RecordProblem& problem) {
            reader.reject_last(problem);
        }
        if (input.header) {
            range.begin = reader.offset();
            range.line = reader.line();
        }
    }
    range.item = first_record;
    return make_source(std::move(file), range, std::move(format), codec, options);
}

}  // namespace sluice
