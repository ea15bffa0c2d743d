package notifications

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// Deliveries tells how the delivery to the endpoints of channels goes.
type Deliveries interface {
	// Endpoints are those where something waits or has failed, the worst first.
	Endpoints() []domain.EndpointState
}

type endpointsAnswer struct {
	handlers.ListEnvelope
	Endpoints []endpointShape `json:"endpoints"`
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
	answer := endpointsAnswer{handlers.ListEnvelope{Envelope: s.Envelope(http.StatusOK), TotalCount: len(list)}, []endpointShape{}}
	for _, e := range list[:min(len(list), mostEndpoints)] {
		answer.Endpoints = append(answer.Endpoints, endpointShape(e))
	}
	s.Reply(c, http.StatusOK, answer)
}
