#pragma once

#include <memory>

#include "core/codec.hpp"
#include "core/config/config.hpp"
#include "core/input/input_file.hpp"
#include "core/input/item_source.hpp"

namespace sluice {

/// Sources of the text formats, indexed when they are made (RecordIndex); read() starts at the nearest place that the
/// index has. They take the file over. Throw Error (bad_data) as open_input does.
[[nodiscard]] std::unique_ptr<ItemSource> make_txt_source(std::unique_ptr<const InputFile> file,
                                                          const JobConfig::Input& input, const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<ItemSource> make_csv_source(std::unique_ptr<const InputFile> file,
                                                          const JobConfig::Input& input, const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<ItemSource> make_jsonl_source(std::unique_ptr<const InputFile> file,
                                                            const JobConfig::Input& input, const ItemCodec& codec);

/// Sources of the formats whose items all have the same size. They take the file over and keep `codec`. Throw Error
/// (bad_data) as open_input does; an item with bad content is refused by read().
[[nodiscard]] std::unique_ptr<ItemSource> make_dense_source(std::unique_ptr<const InputFile> file,
                                                            const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<ItemSource> make_packed_source(std::unique_ptr<const InputFile> file,
                                                             const ItemCodec& codec);
[[nodiscard]] std::unique_ptr<ItemSource> make_npy_source(std::unique_ptr<const InputFile> file,
                                                          const ItemCodec& codec);

}  // namespace sluice
