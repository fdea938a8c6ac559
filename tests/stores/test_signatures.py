"""Requests are signed so that a server that checks it takes them, whatever letters a key has."""

from store_programs import run


def test_a_server_that_checks_signatures_takes_ours(strict_s3):
    said = run(
        """
        g = tf.gfile
        names = ["plain", "with blank", "a+b=c&d", "per%cent", "umlaut-\\u00e4", "~tilde*'()!", "q?uery#x"]
        for name in names:
            with g.GFile(f"s3://bucket/d/{name}", "wb") as file:
                file.write(name.encode())
        assert sorted(g.ListDirectory("s3://bucket/d")) == sorted(names), g.ListDirectory("s3://bucket/d")
        for name in names:
            assert g.GFile(f"s3://bucket/d/{name}", "rb").read() == name.encode()
            g.Rename(f"s3://bucket/d/{name}", f"s3://bucket/e/{name}")
        with g.GFile("s3://bucket/large", "wb") as file:
            file.write(bytes(10 << 20))
        print(len(g.ListDirectory("s3://bucket/e")), g.Stat("s3://bucket/large").length)
        """,
        **strict_s3,
    )
    assert said.split() == ["7", str(10 << 20)]


def test_a_secret_that_is_wrong_is_refused_and_not_shown(strict_s3):
    said = run(
        'code_of(lambda: tf.gfile.ListDirectory("s3://bucket"))',
        **{**strict_s3, "AWS_SECRET_ACCESS_KEY": "wrong-and-never-shown"},
    )
    assert said.startswith("PermissionDeniedError | ") and "SignatureDoesNotMatch" in said, said
    assert "never-shown" not in said
