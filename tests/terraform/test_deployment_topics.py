"""Topics with a schema, a subscription and dead letters."""

from tests.terraform.google_answers import NUMBER

AGENT = f"serviceAccount:service-{NUMBER}@gcp-sa-pubsub.iam.gserviceaccount.com"
SUBSCRIPTIONS = "google_pubsub_subscription"


def test_messages_follow_the_topics_schema(complete):
    topic = complete.all("google_pubsub_topic")['google_pubsub_topic.this["events"]']
    (settings,) = topic["schema_settings"]
    assert settings["schema"] == "projects/my-project/schemas/events"
    assert settings["encoding"] == "JSON"
    assert complete.one("google_pubsub_schema")["type"] == "AVRO"


def test_what_is_not_acknowledged_becomes_a_dead_letter_that_is_kept(complete):
    found = complete.all(SUBSCRIPTIONS)
    (policy,) = found[f'{SUBSCRIPTIONS}.this["events"]']["dead_letter_policy"]
    assert policy["dead_letter_topic"] == "projects/my-project/topics/events-dead"
    assert policy["max_delivery_attempts"] == 10
    kept = found[f'{SUBSCRIPTIONS}.dead["events"]']
    assert (kept["topic"], kept["message_retention_duration"]) == (
        "projects/my-project/topics/events-dead",
        "2678400s",
    )


def test_subscriptions_never_expire(complete):
    policies = [each["expiration_policy"] for each in complete.all(SUBSCRIPTIONS).values()]
    assert policies == [[{"ttl": ""}], [{"ttl": ""}]]


def test_pubsub_itself_may_move_dead_letters_and_no_more(complete):
    topics = complete.all("google_pubsub_topic_iam_member").values()
    subscription = complete.one("google_pubsub_subscription_iam_member")
    assert [(g["topic"], g["role"]) for g in topics if g["member"] == AGENT] == [
        ("events-dead", "roles/pubsub.publisher")
    ]
    assert (subscription["member"], subscription["subscription"], subscription["role"]) == (
        AGENT,
        "events",
        "roles/pubsub.subscriber",
    )


def test_a_deployment_without_topics_has_none_of_it(minimal):
    for kind in ("topic", "schema", "subscription", "subscription_iam_member"):
        assert not minimal.all(f"google_pubsub_{kind}")
