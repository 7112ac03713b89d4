#include "tests/tools/cli/bad_input.hpp"

namespace sluice::test {
namespace {

BadInput input(std::string name, std::string file, std::string content, std::string id, std::string where,
               std::string what) {
    return {std::move(name),
            good_job,
            {{file, std::move(content)}},
            {"--set", "input.path=" + file},
            65,
            std::move(id),
            std::move(where),
            std::move(what)};
}

BadInput csv(std::string name, std::string content, const char* columns, std::string id, std::string where,
             std::string what) {
    BadInput row =
        input(std::move(name), "a.csv", std::move(content), std::move(id), std::move(where), std::move(what));
    row.arguments.insert(row.arguments.end(), {"--set", std::string("input.columns=") + columns});
    return row;
}

BadInput csv_with_header(BadInput row) {
    row.arguments.insert(row.arguments.end(), {"--set", "input.header=true"});
    return row;
}

BadInput jsonl(std::string name, std::string content, std::string id, std::string where, std::string what) {
    BadInput row =
        input(std::move(name), "a.jsonl", std::move(content), std::move(id), std::move(where), std::move(what));
    row.arguments.insert(row.arguments.end(), {"--set", "input.columns=[\"t\"]"});
    return while_reading(std::move(row));
}

BadInput unreadable(std::string name, std::vector<TestFile> files, const char* path, std::string what) {
    return {std::move(name), good_job, std::move(files), {"--set", std::string("input.path=") + path}, 66,
            "E-INP-028",     path,     std::move(what)};
}

}  // namespace

std::vector<BadInput> bad_texts() {
    return {
        unreadable("NoInput", {}, "none.txt", "No such file"),
        unreadable("InputIsAFolder", {{"there.txt/inside", ""}}, "there.txt", "not a regular file"),
        BadInput{"InputIsADevice",
                 good_job,
                 {},
                 {"--set", "input.path=/dev/null", "--set", "input.format=txt"},
                 66,
                 "E-INP-028",
                 "/dev/null",
                 "not a regular file"},
        input("NoItems", "a.txt", "", "E-INP-029", "a.txt", "no items"),
        csv_with_header(csv("OnlyAHeader", "title\n", "[]", "E-INP-029", "a.csv", "no items")),
        input("LfsPointer", "a.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "E-INP-031", "a.txt",
              "Git LFS pointer"),
        input("Compressed", "a.csv", "\x1f\x8b\x08", "E-INP-031", "a.csv", "gzip"),
        input("Utf16Text", "a.txt",
              std::string("\xff\xfe"
                          "a\0\n\0",
                          6),
              "E-INP-031", "a.txt", "UTF-16"),
        input("NulInText", "a.txt", std::string("good\nb\0d\n", 9), "E-INP-035", "a.txt", "NUL"),
        csv("NoSuchColumn", "a,b\nc,d\n", "[3]", "E-INP-032", "a.csv:1", "there is no column 3"),
        csv_with_header(csv("NoSuchName", "a,b\nc,d\n", "[\"c\"]", "E-INP-032", "a.csv:1", "there is no column 'c'")),
        csv_with_header(
            csv("NameTwice", "a,a\nc,d\n", "[\"a\"]", "E-INP-032", "a.csv:1", "two columns are called 'a'")),
        csv("RowTooShort", "a,b\nc,d\ne\n", "[1]", "E-INP-032", "a.csv:3", "got 1 column, expected 2"),
        csv("RowTooLong", "a,b\nc,d,e\n", "[1]", "E-INP-032", "a.csv:2", "got 3 columns, expected 2"),
        csv("OpenQuote", "a\n\"b\nc\n", "[1]", "E-INP-035", "a.csv:2", "inside a quoted field"),
        csv("QuoteInside", "a\nb\"c\n", "[1]", "E-INP-035", "a.csv:2", "a quote inside column 1"),
        csv("AfterTheQuote", "\"a\"b\n", "[1]", "E-INP-035", "a.csv:1", "continues after its closing quote"),
        jsonl("JsonSyntax", "{\"t\": \"a\"}\n{\"t\": }\n", "E-INP-035", "a.jsonl:2", "not valid JSON"),
        jsonl("JsonCutShort", "{\"t\": \"a", "E-INP-035", "a.jsonl:1", "not valid JSON"),
        jsonl("JsonNotUtf8", "{\"t\": \"\xff\"}\n", "E-INP-035", "a.jsonl:1", "item 0"),
        jsonl("JsonDeep", "{\"t\": " + repeated("[", 100'000) + "\n", "E-INP-032", "a.jsonl:1", "is an array"),
        jsonl("JsonNoObject", "[\"t\"]\n", "E-INP-032", "a.jsonl:1", "not a JSON object"),
        jsonl("JsonFieldMissing", "{\"t\": \"a\"}\n{\"u\": 1}\n", "E-INP-032", "a.jsonl:2", "column 't' is missing"),
        jsonl("JsonFieldTwice", "{\"t\": \"a\", \"t\": \"b\"}\n", "E-INP-032", "a.jsonl:1", "appears twice"),
        jsonl("JsonFieldIsAList", "{\"t\": []}\n", "E-INP-032", "a.jsonl:1", "expected a string or a number"),
    };
}

}  // namespace sluice::test
