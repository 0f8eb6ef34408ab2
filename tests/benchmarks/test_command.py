from command import print_split, write_rows


def test_what_reading_takes_of_learning_is_printed(tmp_path, capsys):
    write_rows(tmp_path / "rows.csv", 2000)
    print_split(tmp_path / "rows.csv", 2000)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2000 rows of 20 columns")
    assert lines[1].split()[:3] == ["reading", "and", "parsing"]
