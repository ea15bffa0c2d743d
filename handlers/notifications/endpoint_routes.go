package notifications

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// Deliveries tells how the delivery to the endpoints of channels goes.
type Deliveries interface {
	// Endpoints are those where something waits or has failed, the worst first, and all ZeroMQ sockets.
	Endpoints() []domain.EndpointState
}

type endpointShape struct {
	Endpoint    string `json:"endpoint"`
	Waiting     int    `json:"waiting"`
	UnderWay    int    `json:"underWay"`
	More        bool   `json:"more"`
	Failures    int    `json:"failures"`
	PausedUntil int64  `json:"pausedUntil,omitempty"`

	Socket *socketShape `json:"socket,omitempty"`
}

type socketShape struct {
	Subscribers    int          `json:"subscribers"`
	Topics         []topicShape `json:"topics"`
	MoreTopics     int          `json:"moreTopics"`
	Published      uint64       `json:"published"`
	Drops          uint64       `json:"drops"`
	QueuedMessages int          `json:"queuedMessages"`
	QueuedBytes    int          `json:"queuedBytes"`
}

type topicShape struct {
	Topic       string `json:"topic"`
	Subscribers int    `json:"subscribers"`
}

func shapeEndpoint(e domain.EndpointState) endpointShape {
	shape := endpointShape{
		Endpoint: e.Endpoint, Waiting: e.Waiting, UnderWay: e.UnderWay, More: e.More, Failures: e.Failures, PausedUntil: e.PausedUntil,
	}
	if s := e.Socket; s != nil {
		shape.Socket = &socketShape{s.Subscribers, make([]topicShape, len(s.Topics)), s.MoreTopics, s.Published, s.Drops, s.QueuedMessages, s.QueuedBytes}
		for i, t := range s.Topics {
			shape.Socket.Topics[i] = topicShape(t)
		}
	}
	return shape
}

// mostEndpoints bounds one answer; totalCount says how many there are.
const mostEndpoints = 1000

func (s service) endpointRoutes() []handlers.Route {
	return []handlers.Route{{Method: "GET", Path: "/endpoint/all", Right: domain.MayRead, Handle: s.listEndpoints}}
}

// listEndpoints is Ledge's own: EdgeX has nothing that an operator could look at.
func (s service) listEndpoints(c *gin.Context) {
	list := s.deliveries.Endpoints()
	shown := make([]endpointShape, min(len(list), mostEndpoints))
	for i := range shown {
		shown[i] = shapeEndpoint(list[i])
	}
	handlers.ReplyList(s.API, c, "endpoints", len(list), shown)
}
