package notifications

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
)

// acknowledge serves EdgeX 4's acknowledgements: of all the ids in the path or, where one does not exist, of none.
func (s service) acknowledge(acknowledged bool) handlers.Handler {
	return s.change("ids", func(ids []string, submit submit) (domain.Outcome, error) {
		return submit(domain.AcknowledgeNotifications{IDs: ids, Acknowledged: acknowledged, At: s.Now().UnixMilli()})
	})
}

// submit submits a command on the condition of the request, if it has one.
type submit = func(domain.Command) (domain.Outcome, error)

// change serves a change of the notifications whose ids are in the path under param, with commas between them.
func (s service) change(param string, change func(ids []string, submit submit) (domain.Outcome, error)) handlers.Handler {
	return func(c *gin.Context) {
		ids := strings.Split(c.Param(param), ",")
		err := handlers.OnlyOfOne(c.Request.Header, len(ids))
		var o domain.Outcome
		if err == nil {
			o, err = change(ids, func(command domain.Command) (domain.Outcome, error) { return s.Submit(c, s.notices, command, 0) })
		}
		if err != nil {
			s.Fail(c, err)
			return
		}
		if len(ids) == 1 {
			handlers.SetETag(c, o.Seq)
		}
		s.Reply(c, http.StatusOK, s.Envelope(http.StatusOK))
	}
}
