from broker_core.api import GroupConfig, RequestCode
from broker_core.protocol.json_body import parse_object
from monitoring.admin.groups import change_settings, delete_request


def test_a_change_sends_the_config():
    request = change_settings(GroupConfig("billing", retry_times_max=4, others={"x": 1}))
    assert request.code == RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    body = parse_object(request.body)
    assert (body["groupName"], body["retryMaxTimes"], body["x"]) == ("billing", 4, 1)


def test_a_group_goes_with_its_offsets_or_without():
    assert delete_request("g", with_offsets=True).fields == {"groupName": "g", "removeOffset": "true", "cleanOffset": "true"}
    assert delete_request("g", with_offsets=False).fields["cleanOffset"] == "false"
