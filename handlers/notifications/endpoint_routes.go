package notifications

import (
	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// Deliveries tells how the delivery to the endpoints of channels goes.
type Deliveries interface {
	// Endpoints are those where something waits or has failed, the worst first.
	Endpoints() []domain.EndpointState
}

type endpointShape struct {
	Endpoint    string `json:"endpoint"`
	Waiting     int    `json:"waiting"`
	UnderWay    int    `json:"underWay"`
	More        bool   `json:"more"`
	Failures    int    `json:"failures"`
	PausedUntil int64  `json:"pausedUntil,omitempty"`
}

// mostEndpoints bounds one answer; totalCount says how many there are.
const mostEndpoints = 1000

func (s service) routeEndpoints() { s.Routes.GET("/endpoint/all", s.listEndpoints) }

// listEndpoints is Ledge's own: EdgeX has nothing that an operator could look at.
func (s service) listEndpoints(c *gin.Context) {
	list := s.deliveries.Endpoints()
	shown := make([]endpointShape, min(len(list), mostEndpoints))
	for i := range shown {
		shown[i] = endpointShape(list[i])
	}
	handlers.ReplyList(s.API, c, "endpoints", len(list), shown)
}
