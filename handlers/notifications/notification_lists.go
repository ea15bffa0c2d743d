package notifications

import (
	"math"
	"net/http"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/entities"
)

// by is handlers.By, which no request gets wrong.
func by(index, param string) handlers.Asked {
	filter := handlers.By(index, param)
	return func(c *gin.Context) ([]domain.Filter, error) { return filter(c), nil }
}

// bySubscription keeps, as EdgeX 2.3 does, the notifications with one of the categories or labels that the subscription has now.
func (s service) bySubscription(c *gin.Context) ([]domain.Filter, error) {
	name := c.Param("name")
	view, done := s.subscriptions()
	defer done()
	sub, ok := view.State.Subscriptions.Get(name)
	if !ok {
		return nil, domain.Errorf(domain.NotFound, "subscription name %.80q does not exist; correct the name", name)
	}
	return []domain.Filter{{Index: domain.IndexCategory, Any: sub.Categories, Or: []domain.Filter{{Index: domain.IndexLabel, Any: sub.Labels}}}}, nil
}

func (s service) listNotifications(filter handlers.Asked) handlers.Handler {
	return handlers.ListOf(s.API, s.notifications, entities.Notifications, withAck(filter), "notifications", shapeNotification)
}

// withAck adds the query parameter ack of EdgeX 4 to a filter: true and false keep what is acknowledged and what is not.
func withAck(filter handlers.Asked) handlers.Asked {
	return func(c *gin.Context) ([]domain.Filter, error) {
		filters, err := filter(c)
		switch ack := c.Query("ack"); ack {
		case "":
		case "true", "false":
			filters = append(filters, domain.Filter{Index: domain.IndexAcknowledged, Value: domain.Acknowledged, Without: ack == "false"})
		default:
			return nil, domain.FieldErrorf("ack", "%.80q is unknown; use true or false, or leave it out", ack)
		}
		return filters, err
	}
}

// findNotifications serves the conditions of EdgeX 4. EdgeX 2.3 knows no GET here, and no GET with a body anywhere.
func (s service) findNotifications(c *gin.Context) {
	if c.Request.ContentLength == 0 {
		c.Status(http.StatusMethodNotAllowed)
		c.Writer.WriteHeaderNow()
		return
	}
	s.listNotifications(s.byCondition)(c)
}

func (s service) byCondition(c *gin.Context) ([]domain.Filter, error) {
	asked, err := handlers.ReadObject[findNotifications](s.API, c)
	if err != nil {
		return nil, err
	}
	q := asked.QueryCondition
	if n := len(q.Category); n > domain.MaxTags {
		return nil, domain.FieldErrorf("queryCondition.category", "has %d entries; use at most %d", n, domain.MaxTags)
	}
	if q.End <= q.Start {
		q.End = math.MaxInt64 // as in EdgeX 4
	}
	filters := []domain.Filter{domain.Between(q.Start, q.End)}
	if len(q.Category) > 0 {
		filters = append(filters, domain.Filter{Index: domain.IndexCategory, Any: q.Category})
	}
	return filters, nil
}
