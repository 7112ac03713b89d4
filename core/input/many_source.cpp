#include "core/input/many_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/input/format_sources.hpp"
#include "core/input/growth.hpp"
#include "core/input/record_index.hpp"
#include "core/trace/thread_usage.hpp"

namespace sluice {
namespace {

using FileSources = std::vector<std::unique_ptr<FileSource>>;

/// Of some consecutive files: those that keep all threads busy one after the other, the others side by side.
class FileIndexer {
public:
    /// `first_item`: of the files, for messages. After a request to stop the sources are not to be used.
    FileIndexer(std::span<const std::shared_ptr<const InputFile>> files, const JobConfig::Input& input,
                const ItemCodec& codec, std::uint64_t first_item, std::stop_token stop)
        : files_(files),
          input_(input),
          codec_(codec),
          first_item_(first_item),
          stop_(std::move(stop)),
          sources_(files_.size()) {}

    FileSources run() {
        try {
            index_all();
        } catch (const Error&) {
            explain_with_number();
            throw;
        }
        return std::move(sources_);
    }

private:
    void index_all() {
        std::size_t end = files_.size();  // of the files that may have the first mistake
        std::exception_ptr failure;
        for (std::size_t i = 0; i < end; ++i) {
            try {
                if (is_large(i)) {
                    index(i, threads_);
                }
            } catch (...) {  // after the small files before it
                failure = std::current_exception();
                end = i;
            }
        }
        const auto index_small = [&](std::size_t i) {
            if (!is_large(i)) {
                index(i, 1);
            }
        };
        for_all_files(end, index_small);
        if (failure) {
            std::rethrow_exception(failure);
        }
    }

    [[nodiscard]] bool is_large(std::size_t i) const {
        return threads_ > 1 && choose_index_threads(threads_, files_[i]->size()) == threads_;
    }

    void index(std::size_t i, std::uint32_t threads) {
        sources_[i] = make_file_source(files_[i], input_, codec_, {.threads = threads, .stop = stop_});
    }

    /// How many items the files before it have was not known when a file's mistake was found.
    void explain_with_number() const {
        std::uint64_t first_item = first_item_;
        std::size_t bad = 0;
        for (; sources_[bad] != nullptr; ++bad) {
            first_item += sources_[bad]->count();
        }
        static_cast<void>(make_file_source(files_[bad], input_, codec_, {.first_item = first_item}));
    }

    std::span<const std::shared_ptr<const InputFile>> files_;
    const JobConfig::Input& input_;
    const ItemCodec& codec_;
    std::uint64_t first_item_;
    std::stop_token stop_;
    FileSources sources_;
    std::uint32_t threads_ = most_index_threads();
};

std::string difference_of(const FileSource& other, const FileSource& first) {
    constexpr std::size_t longest = 200;
    const std::string& where = first.file().where();
    return other.form().size() + first.form().size() > longest
               ? fmt::format("has other columns than {}", where)
               : fmt::format("has {}, but {} has {}", other.form(), where, first.form());
}

/// Behind the files from `begin` on that are indexed before more items become known: more and more files, so that the
/// first are known soon, and all threads are busy later.
std::size_t end_of_group(const InputFiles& files, std::size_t begin) {
    constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
    const std::size_t most_files = begin + 1;
    std::uint64_t bytes = 0;
    std::size_t end = begin;
    while (end < files.size() && bytes < most_bytes && end - begin < most_files) {
        bytes += files[end++]->size();
    }
    return end;
}

class ManySource final : public GrowingSource<ItemSource> {
public:
    ManySource(InputFiles files, const JobConfig::Input& input, const ItemCodec& codec, bool beside)
        : files_(std::move(files)), input_(input), codec_(codec), is_beside_(beside), stamp_(stamp_of(files_)) {
        sources_.reserve(files_.size());
        first_items_.reserve(files_.size() + 1);
        if (is_beside_) {
            thread_ = std::jthread([this] {
                name_this_thread("index");
                growth_.run([this](const std::stop_token& stop) { index_all(stop); });
            });
        } else {
            growth_.run([this](const std::stop_token& stop) { index(files_.size(), stop); });
            static_cast<void>(growth_.known());
        }
    }
    ~ManySource() override { growth_.give_up(); }

    [[nodiscard]] std::optional<Interval> indexed_beside() const override {
        return is_beside_ ? growth_.time() : std::nullopt;
    }
    [[nodiscard]] std::uint64_t estimate_count() const noexcept override {
        return growth_.look([this] {
            std::uint64_t indexed = 0;
            for (std::size_t i = 0; i < sources_.size(); ++i) {
                indexed += files_[i]->size();
            }
            const std::uint64_t known = first_items_.back();
            const double share = static_cast<double>(indexed) / static_cast<double>(all_bytes());
            return sources_.size() == files_.size() ? known
                   : known == 0                     ? all_bytes()
                                : std::max(known, static_cast<std::uint64_t>(static_cast<double>(known) / share));
        });
    }
    [[nodiscard]] std::uint64_t upper_bound() const override {  // a record has a byte at least, or is a file's last
        return all_bytes() + files_.size();
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return growth_.look([this] { return bytes_; });
    }
    [[nodiscard]] std::uint32_t granularity() const noexcept override {
        return growth_.look([this] { return granularity_; });
    }

    [[nodiscard]] InputReads reads() const noexcept override {
        return growth_.look([this] {
            InputReads all;
            for (const auto& source : sources_) {
                const InputReads one = source->reads();
                all.indexing += one.indexing;
                all.items += one.items;
            }
            all.file = all_bytes();
            return all;
        });
    }

    [[nodiscard]] std::string stamp() const override { return stamp_; }

    [[nodiscard]] std::vector<SourceFile> files() const override {
        return growth_.look([this] {
            std::vector<SourceFile> files;
            files.reserve(files_.size());
            for (std::size_t i = 0; i < files_.size(); ++i) {
                const bool is_known = i < sources_.size();
                files.push_back({.path = files_[i]->path(),
                                 .stamp = files_[i]->stamp(),
                                 .bytes = files_[i]->size(),
                                 .first_item = is_known ? first_items_[i] : 0,
                                 .items = is_known ? first_items_[i + 1] - first_items_[i] : 0});
            }
            return files;
        });
    }

    void check_content() const override {
        const auto check = [this](std::size_t i) { files_[i]->check_content(); };
        for_all_files(files_.size(), check);
    }

    std::uint32_t read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        const std::uint64_t known = growth_.look([this] { return first_items_.back(); });
        expects(first <= known && count <= known - first, "ItemSource::read stays inside the known items");
        const std::size_t item_bytes = count == 0 ? 0 : to.size() / count;
        const std::uint64_t end = first + count;
        std::uint32_t cut = 0;
        for (std::uint64_t at = first; at < end;) {
            const Place place = place_of(at);
            const std::uint64_t stop = std::min(end, place.end);
            const auto items = static_cast<std::uint32_t>(stop - at);
            cut +=
                place.source->read(at - place.begin, items, to.subspan((at - first) * item_bytes, items * item_bytes));
            at = stop;
        }
        return cut;
    }

private:
    /// Of a file's items, which has some.
    struct Place {
        const FileSource* source;
        std::uint64_t begin;
        std::uint64_t end;
    };

    [[nodiscard]] Place place_of(std::uint64_t item) const {
        return growth_.look([&, this] {
            const auto behind = std::ranges::upper_bound(first_items_, item);
            const auto number = static_cast<std::size_t>(behind - first_items_.begin()) - 1;
            return Place{.source = sources_[number].get(), .begin = *(behind - 1), .end = *behind};
        });
    }

    [[nodiscard]] std::uint64_t all_bytes() const noexcept {
        return std::accumulate(files_.begin(), files_.end(), std::uint64_t{0},
                               [](std::uint64_t sum, const auto& file) { return sum + file->size(); });
    }

    void index_all(const std::stop_token& stop) {
        while (sources_.size() < files_.size() && !stop.stop_requested()) {
            index(end_of_group(files_, sources_.size()), stop);
        }
    }

    /// The files before `end` that are not indexed yet.
    void index(std::size_t end, const std::stop_token& stop) {
        const std::size_t begin = sources_.size();
        const auto group = std::span(files_).subspan(begin, end - begin);
        FileSources sources = FileIndexer(group, input_, codec_, first_items_.back(), stop).run();
        refuse_other_forms(sources);
        if (!stop.stop_requested()) {
            growth_.grow([&] { return add(std::move(sources)); });
        }
    }

    /// The first source of all that has a form decides.
    void refuse_other_forms(const FileSources& sources) {
        for (const auto& source : sources) {
            if (source->form().empty()) {
                continue;
            }
            if (with_form_ == nullptr) {
                with_form_ = source.get();
            }
            if (source->form() != with_form_->form()) {
                throw Error(ExitCode::bad_data,
                            {"E-INP-182", source->file().where(), difference_of(*source, *with_form_),
                             "make a job for each kind of file, or of csv name columns that all of them have"});
            }
        }
    }

    /// Returns the number of items.
    std::uint64_t add(FileSources sources) {
        for (auto& source : sources) {
            source->number_from(first_items_.back());
            bytes_ += source->bytes();
            granularity_ = std::max(granularity_, source->granularity());
            first_items_.push_back(first_items_.back() + source->count());
            sources_.push_back(std::move(source));
            if (first_items_.back() > most_items) {
                throw Error(ExitCode::configuration,
                            {"E-CFG-011", "input.path",
                             fmt::format("got {} items in the first {} of {} files, expected at most {} in all",
                                         first_items_.back(), sources_.size(), files_.size(), most_items),
                             "cut the input into several jobs"});
            }
        }
        return first_items_.back();
    }

    InputFiles files_;  // also of an index that has failed, of which others may still ask
    JobConfig::Input input_;
    const ItemCodec& codec_;
    bool is_beside_;
    std::string stamp_;
    const FileSource* with_form_ = nullptr;
    // Whose growth it is:
    FileSources sources_;
    std::vector<std::uint64_t> first_items_{0};  // of each source, and behind them the number of all their items
    std::uint64_t bytes_ = 0;
    std::uint32_t granularity_ = 1;

    std::jthread thread_;  // that indexes beside reads
};

}  // namespace

std::unique_ptr<ItemSource> make_many_source(InputFiles files, const JobConfig::Input& input, const ItemCodec& codec,
                                             bool beside) {
    return std::make_unique<ManySource>(std::move(files), input, codec, beside);
}

}  // namespace sluice
