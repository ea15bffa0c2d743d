package notifications

import (
	"testing"

	"ledge/domain"
	"ledge/handlers/handlerstest"
)

// stuck is the delivery to one endpoint that is paused and one that works.
type stuck struct{}

func (stuck) Endpoints() []domain.EndpointState {
	return []domain.EndpointState{
		{Endpoint: "REST/10.0.0.7/8080", Waiting: 3, More: true, Failures: 4, PausedUntil: 1760000000000},
		{Endpoint: "EMAIL//0", Waiting: 1, UnderWay: 2},
		{Endpoint: "ZeroMQ/127.0.0.1/5563", Socket: &domain.SocketState{Subscribers: 2, Topics: []domain.TopicCount{{Topic: "cam", Subscribers: 1}}, MoreTopics: 1, Published: 9, Drops: 3, QueuedMessages: 4, QueuedBytes: 5}},
	}
}

func TestEndpoints(t *testing.T) {
	f := mustNotifications(t)
	handlerstest.Run(t, f, f.events, []handlerstest.Scenario{{
		Name: "all", Method: "GET", Path: "/api/v2/endpoint/all", Status: 200, WantBody: `{"apiVersion":"v2","statusCode":200,"totalCount":3,"endpoints":[` +
			`{"endpoint":"REST/10.0.0.7/8080","waiting":3,"underWay":0,"more":true,"failures":4,"pausedUntil":1760000000000},` +
			`{"endpoint":"EMAIL//0","waiting":1,"underWay":2,"more":false,"failures":0},` +
			`{"endpoint":"ZeroMQ/127.0.0.1/5563","waiting":0,"underWay":0,"more":false,"failures":0,"socket":{"subscribers":2,"topics":[{"topic":"cam","subscribers":1}],"moreTopics":1,"published":9,"drops":3,"queuedMessages":4,"queuedBytes":5}}]}` + "\n",
	}})
}
