from reading import main


def test_what_reading_costs_is_printed_for_each_format(capsys):
    main(["--rows", "10000"])
    files = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert files == ["file", "rows.csv", "rows.parquet", "rows.jsonl"]
