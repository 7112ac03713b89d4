// No text of a user's reaches a shell: every string of a job is filled with what has broken other scripts. Each is
// refused, or leaves the script's body as it is and its own option on one line of harmless characters.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/config/schema.hpp"
#include "core/error.hpp"
#include "tests/slurm/slurm_jobs.hpp"

namespace sluice {
namespace {

const std::vector<std::string>& hostile_strings() {
    static const std::vector<std::string> strings{"$(touch MARK)",
                                                  "`touch MARK`",
                                                  ";touch MARK",
                                                  "\ntouch MARK\n",
                                                  "\n#SBATCH --wrap=x\n",
                                                  "\r\ntouch MARK\r\n",
                                                  "x\ntouch MARK",
                                                  "&& touch MARK",
                                                  "| touch MARK",
                                                  "|| touch MARK",
                                                  "& touch MARK &",
                                                  "> MARK",
                                                  ">>MARK",
                                                  "< MARK",
                                                  "$((1+1))",
                                                  "${IFS}touch${IFS}MARK",
                                                  "$MARK",
                                                  "$'\\ntouch MARK'",
                                                  "'",
                                                  "\"",
                                                  "'; touch MARK; '",
                                                  "\"; touch MARK; \"",
                                                  "\\",
                                                  "\\\n",
                                                  "a\\",
                                                  "''",
                                                  "\"\"",
                                                  "#",
                                                  "a # b",
                                                  "a#b",
                                                  "!touch",
                                                  "!!",
                                                  "~",
                                                  "~root",
                                                  "*",
                                                  "?",
                                                  "[a-z]",
                                                  "{a,b}",
                                                  "%j",
                                                  "%20j%%",
                                                  "%",
                                                  "a%sb%n",
                                                  "\t",
                                                  " ",
                                                  "  a  ",
                                                  "a b",
                                                  "\x01",
                                                  "\x1b[31m",
                                                  "\x7f",
                                                  "\xff",
                                                  "\xc3\xa9",
                                                  "\xe2\x80\xae",
                                                  "\xf0\x9f\x92\xa7",
                                                  "-",
                                                  "--",
                                                  "--wrap=touch MARK",
                                                  "--output=/tmp/x",
                                                  "--export=ALL",
                                                  "-o/tmp/x",
                                                  "--uid=0",
                                                  "--wra=x",
                                                  "--ex=x",
                                                  "../../etc/passwd",
                                                  "/dev/null",
                                                  "/etc/passwd",
                                                  "..",
                                                  "/",
                                                  ",",
                                                  "a,b",
                                                  ",SLUICE_BIN=/tmp/evil",
                                                  "x,LD_PRELOAD=/tmp/evil.so",
                                                  "LD_PRELOAD=/x",
                                                  "SLUICE_BIN",
                                                  "=",
                                                  "a=b",
                                                  ":",
                                                  "a:b",
                                                  "@",
                                                  "\xef\xbb\xbf",
                                                  "EOF",
                                                  "\nEOF\n",
                                                  "batch_text\"",
                                                  ")batch_text\"",
                                                  "{0}",
                                                  "{}",
                                                  "{:1000000000}",
                                                  "nan",
                                                  "1e999",
                                                  "-1",
                                                  "0",
                                                  "18446744073709551616",
                                                  "true",
                                                  "null",
                                                  "site",
                                                  "auto",
                                                  std::string("a\0b", 3),
                                                  std::string(65, 'a'),
                                                  std::string(5'000, 'a'),
                                                  std::string(70'000, 'a'),
                                                  ""};
    return strings;
}

/// As a TOML string, whatever is in it.
std::string literal(const std::string& text) {
    std::string out(1, '"');
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7F || c == '"' || c == '\\') {
            static constexpr std::string_view digits = "0123456789abcdef";
            out += std::string("\\u00") + digits[byte >> 4U] + digits[byte & 15U];
        } else {
            out += c;
        }
    }
    return out + '"';
}

bool is_string(const KeySpec& key) {
    return key.type == KeyType::text || key.type == KeyType::path || key.type == KeyType::name ||
           key.type == KeyType::duration;
}

bool takes_strings(const KeySpec& key) {
    return is_string(key) || key.type == KeyType::words || key.type == KeyType::columns || !key.word.empty();
}

/// The job with `text` in `key`, as an override, which takes TOML like the file.
std::string script_with(const KeySpec& key, const std::string& text) {
    const std::string value =
        key.type == KeyType::words || key.type == KeyType::columns ? fmt::format("[{}]", literal(text)) : literal(text);
    const JobConfig job = slurm_job("input.header = true\ninput.format = \"csv\"\n", {{key.full_name(), value}});
    ScriptPaths paths = script_paths(job);
    paths.program = some_paths.program;
    return batch_script(job, paths);
}

constexpr std::string_view harmless = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-=:,@+%";
/// In an option of their own only, where Slurm gives them a meaning; no shell reads the line.
constexpr std::string_view slurms = "&|*()[]!$`;<>?~^{}";

TEST(HostileStrings, LeaveTheScriptAsItIsInEveryField) {
    ASSERT_GE(hostile_strings().size(), 60U);
    std::size_t fields = 0;
    std::size_t accepted = 0;
    std::size_t refused = 0;

    for (const KeySpec& key : job_keys()) {
        if (!takes_strings(key)) {
            continue;
        }
        ++fields;
        for (const std::string& text : hostile_strings()) {
            SCOPED_TRACE(key.full_name() + " = " + quoted(text));
            std::string script;
            try {
                script = script_with(key, text);
                ++accepted;
            } catch (const Error& error) {
                EXPECT_FALSE(error.text().id.empty());
                EXPECT_EQ(render(error.text()).find_first_of(std::string_view("\0\r\x1b", 3)), std::string::npos);
                ++refused;
                continue;
            }
            const SplitScript parts = split(script);
            ASSERT_EQ(parts.body, batch_text());
            const bool has_own_line = key.full_name() == "slurm.extra" || key.full_name() == "slurm.constraint" ||
                                      key.full_name() == "slurm.nodelist" || key.full_name() == "slurm.exclude";
            for (const std::string& option : parts.options) {
                ASSERT_TRUE(option.starts_with("--"));
                const std::string allowed = std::string(harmless) + (has_own_line ? std::string(slurms) : "");
                ASSERT_EQ(option.find_first_not_of(allowed), std::string::npos) << option;
            }
        }
    }

    EXPECT_GE(fields, 25U);
    EXPECT_GT(accepted, fields);
    EXPECT_GT(refused, accepted);
    RecordProperty("fields", std::to_string(fields));
    RecordProperty("strings", std::to_string(hostile_strings().size()));
}

TEST(HostileStrings, OfAnExportedVariableAddNoVariable) {
    for (const std::string& text : hostile_strings()) {
        try {
            const JobConfig job = slurm_job("", {{"slurm.environment", fmt::format("[{}]", literal(text))}});
            EXPECT_EQ(text.find_first_of(",= \n"), std::string::npos) << quoted(text);
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ExitCode::configuration);
        }
    }
}

}  // namespace
}  // namespace sluice
