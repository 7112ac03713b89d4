#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/input/input_file.hpp"
#include "core/input/item_source.hpp"

namespace sluice {

/// Of an input, so that sums of items and bytes never wrap.
inline constexpr std::uint64_t most_items = std::uint64_t{1} << 48;

/// Items of one file, by their numbers in that file.
class FileSource : public ItemSource {
public:
    /// For messages and the codec, the file's first item has the number `first`, a multiple of the items of a record;
    /// 0 before. Not while a read() is under way.
    virtual void number_from(std::uint64_t first) noexcept = 0;

    /// What all files of an input must have in common besides their format, in words: "3 columns"; may be empty.
    [[nodiscard]] virtual std::string form() const = 0;

    [[nodiscard]] virtual const InputFile& file() const noexcept = 0;

    [[nodiscard]] std::string stamp() const override { return file().stamp(); }
    void check_content() const override { file().check_content(); }
    [[nodiscard]] std::vector<SourceFile> files() const override {
        return {{.path = file().path(), .stamp = file().stamp(), .bytes = file().size(), .items = known().count}};
    }
};

/// How a text is indexed.
struct TextOptions {
    std::uint64_t first_item = 0;  ///< As FileSource::number_from().
    std::uint32_t threads = 0;     ///< IndexOptions::threads.
    bool beside = false;           ///< While its items are read (ItemSource::known()); else when its source is made.
    std::stop_token stop{};        ///< Ends the latter early; then the source is not to be used.
};

/// Sources of the text formats, with a RecordIndex; read() starts at the nearest place that the index has. They
/// share the file. Throw Error (bad_data) as open_input does.
[[nodiscard]] std::unique_ptr<FileSource> make_txt_source(std::shared_ptr<const InputFile> file,
                                                          const JobConfig::Input& input, const ItemCodec& codec,
                                                          const TextOptions& options);
[[nodiscard]] std::unique_ptr<FileSource> make_csv_source(std::shared_ptr<const InputFile> file,
                                                          const JobConfig::Input& input, const ItemCodec& codec,
                                                          const TextOptions& options);
[[nodiscard]] std::unique_ptr<FileSource> make_jsonl_source(std::shared_ptr<const InputFile> file,
                                                            const JobConfig::Input& input, const ItemCodec& codec,
                                                            const TextOptions& options);

/// Sources of the formats whose items all have the same size. They share the file and keep `codec`. Throw Error
/// (bad_data) as open_input does; an item with bad content is refused by read().
[[nodiscard]] std::unique_ptr<FileSource> make_dense_source(std::shared_ptr<const InputFile> file,
                                                            const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<FileSource> make_packed_source(std::shared_ptr<const InputFile> file,
                                                             const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<FileSource> make_npy_source(std::shared_ptr<const InputFile> file,
                                                          const ItemCodec& codec);

/// The one for the input's format.
[[nodiscard]] std::unique_ptr<FileSource> make_file_source(std::shared_ptr<const InputFile> file,
                                                           const JobConfig::Input& input, const ItemCodec& codec,
                                                           const TextOptions& options);

}  // namespace sluice
