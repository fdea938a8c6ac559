"""Requests are signed so that a server that checks it takes them, whatever letters a key has."""

from store_programs import run


# The server works a signature out over a key as it reads it, in which these letters are no longer escaped; Amazon
# wants them escaped. So they are told by one that checks no signatures.
CHECKED = ["plain", "with blank", "a-b_c.d~e"]
OTHERS = ["a+b=c&d", "per%cent", "~tilde*'()!", "q?uery#x", "umlaut-\u00e4"]


def test_a_server_that_checks_signatures_takes_ours(strict_s3):
    assert written_and_read(CHECKED, strict_s3) == ["3", str(10 << 20)]


def test_keys_may_have_letters_that_mean_something_in_urls(s3):
    assert written_and_read(OTHERS, s3) == ["5", str(10 << 20)]


def written_and_read(names, server):
    return run(
        f"""
        g = tf.gfile
        names = {names!r}
        for name in names:
            with g.GFile("s3://bucket/d/" + name, "wb") as file:
                file.write(name.encode())
        assert sorted(g.ListDirectory("s3://bucket/d")) == sorted(names), g.ListDirectory("s3://bucket/d")
        for name in names:
            assert g.GFile("s3://bucket/d/" + name, "rb").read() == name.encode()
            g.Rename("s3://bucket/d/" + name, "s3://bucket/e/" + name)
        with g.GFile("s3://bucket/large", "wb") as file:
            file.write(bytes(10 << 20))
        print(len(g.ListDirectory("s3://bucket/e")), g.Stat("s3://bucket/large").length)
        """,
        **server,
    ).split()


def test_a_secret_that_is_wrong_is_refused_and_not_shown(strict_s3):
    said = run(
        'code_of(lambda: tf.gfile.ListDirectory("s3://bucket"))',
        **{**strict_s3, "AWS_SECRET_ACCESS_KEY": "wrong-and-never-shown"},
    )
    assert said.startswith("PermissionDeniedError | ") and "SignatureDoesNotMatch" in said, said
    assert "never-shown" not in said
