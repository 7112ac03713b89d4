#include "core/input/many_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/input/format_sources.hpp"
#include "core/input/record_index.hpp"

namespace sluice {
namespace {

using FileSources = std::vector<std::unique_ptr<FileSource>>;

class ManySource final : public ItemSource {
public:
    /// `first_items`: of each source, and behind them the number of all items.
    ManySource(FileSources sources, std::vector<std::uint64_t> first_items, std::string stamp)
        : sources_(std::move(sources)), first_items_(std::move(first_items)), stamp_(std::move(stamp)) {
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            sources_[i]->number_from(first_items_[i]);
            bytes_ += sources_[i]->bytes();
            granularity_ = std::max(granularity_, sources_[i]->granularity());
        }
    }

    [[nodiscard]] std::uint64_t count() const override { return first_items_.back(); }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_; }
    [[nodiscard]] std::uint32_t granularity() const noexcept override { return granularity_; }

    [[nodiscard]] InputReads reads() const noexcept override {
        InputReads all;
        for (const auto& source : sources_) {
            const InputReads one = source->reads();
            all.file += one.file;
            all.indexing += one.indexing;
            all.items += one.items;
        }
        return all;
    }

    [[nodiscard]] std::string stamp() const override { return stamp_; }

    [[nodiscard]] std::vector<SourceFile> files() const override {
        std::vector<SourceFile> files;
        files.reserve(sources_.size());
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            files.push_back(sources_[i]->files().front());
            files.back().first_item = first_items_[i];
        }
        return files;
    }

    void check_content() const override {
        const auto check = [this](std::size_t i) { sources_[i]->check_content(); };
        for_all_files(sources_.size(), check);
    }

    void read(std::uint64_t first, std::uint32_t count, std::span<std::byte> to) const override {
        expects(first <= this->count() && count <= this->count() - first, "ItemSource::read stays inside the items");
        const std::size_t item_bytes = count == 0 ? 0 : to.size() / count;
        const std::uint64_t end = first + count;
        auto behind = std::ranges::upper_bound(first_items_, first);  // of the file that holds `first`
        for (std::uint64_t at = first; at < end; ++behind) {
            const std::uint64_t stop = std::min(end, *behind);
            if (stop == at) {  // an empty file
                continue;
            }
            const auto items = static_cast<std::uint32_t>(stop - at);
            const auto& source = *sources_[static_cast<std::size_t>(behind - first_items_.begin()) - 1];
            source.read(at - *(behind - 1), items, to.subspan((at - first) * item_bytes, items * item_bytes));
            at = stop;
        }
    }

private:
    FileSources sources_;
    std::vector<std::uint64_t> first_items_;
    std::string stamp_;
    std::uint64_t bytes_ = 0;
    std::uint32_t granularity_ = 1;
};

/// Of all files: those that keep all threads busy one after the other, the others side by side.
class FileIndexer {
public:
    FileIndexer(InputFiles files, const JobConfig::Input& input, const ItemCodec& codec)
        : files_(std::move(files)), input_(input), codec_(codec), sources_(files_.size()) {
        for (const auto& file : files_) {
            paths_.push_back(file->path());
            sizes_.push_back(file->size());
        }
    }

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
        return threads_ > 1 && choose_index_threads(threads_, sizes_[i]) == threads_;
    }

    void index(std::size_t i, std::uint32_t threads) {
        sources_[i] = make_file_source(std::move(files_[i]), input_, codec_, {.threads = threads});
    }

    /// How many items the files before it have was not known when a file's mistake was found.
    void explain_with_number() const {
        std::uint64_t first_item = 0;
        std::size_t bad = 0;
        for (; sources_[bad] != nullptr; ++bad) {
            first_item += sources_[bad]->count();
        }
        static_cast<void>(make_file_source(std::make_unique<const InputFile>(paths_[bad]), input_, codec_,
                                           {.first_item = first_item}));
    }

    InputFiles files_;
    std::vector<std::filesystem::path> paths_;
    std::vector<std::uint64_t> sizes_;
    const JobConfig::Input& input_;
    const ItemCodec& codec_;
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

void refuse_other_forms(const FileSources& sources) {
    const auto has_form = [](const auto& source) { return !source->form().empty(); };
    const auto first = std::ranges::find_if(sources, has_form);
    for (auto other = first; other != sources.end(); ++other) {
        if (has_form(*other) && (*other)->form() != (*first)->form()) {
            throw Error(ExitCode::bad_data,
                        {"E-INP-182", (*other)->file().where(), difference_of(**other, **first),
                         "make a job for each kind of file, or of csv name columns that all of them have"});
        }
    }
}

std::vector<std::uint64_t> number_items(const FileSources& sources) {
    std::vector<std::uint64_t> first_items{0};
    for (const auto& source : sources) {
        first_items.push_back(first_items.back() + source->count());
        if (first_items.back() > most_items) {
            throw Error(ExitCode::configuration,
                        {"E-CFG-011", "input.path",
                         fmt::format("got {} items in the first {} of {} files, expected at most {} in all",
                                     first_items.back(), first_items.size() - 1, sources.size(), most_items),
                         "cut the input into several jobs"});
        }
    }
    return first_items;
}

}  // namespace

std::unique_ptr<ItemSource> make_many_source(InputFiles files, const JobConfig::Input& input, const ItemCodec& codec) {
    std::string stamp = stamp_of(files);
    FileSources sources = FileIndexer(std::move(files), input, codec).run();
    refuse_other_forms(sources);
    std::vector<std::uint64_t> first_items = number_items(sources);
    return std::make_unique<ManySource>(std::move(sources), std::move(first_items), std::move(stamp));
}

}  // namespace sluice
