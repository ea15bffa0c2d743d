package console

import (
	"bytes"
	"fmt"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
)

// Refusals returns the newest events of EdgeX's message bus that were refused for good, the newest first, and how many were refused since
// the start, by reason. It is nil without the bus.
type Refusals func() (newest []RefusedEvent, counts map[string]uint64)

// RefusedEvent is an event of EdgeX's message bus that was refused for good.
type RefusedEvent struct {
	At                       int64 // in milliseconds since the Unix epoch
	Subject, Reason, Message string
	Begin                    []byte // of the data
}

// sampleOf returns the beginning of data as a text, or in hexadecimal unless it is one. It leaves out a character at the end that is cut.
func sampleOf(begin []byte) string {
	text := begin
	for cut := 1; cut < min(utf8.UTFMax, len(begin)) && !utf8.Valid(text); cut++ {
		text = begin[:len(begin)-cut]
	}
	if !utf8.Valid(text) || bytes.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) && !unicode.IsSpace(c) }) {
		return fmt.Sprintf("% x", begin)
	}
	return string(text)
}

// count returns how many events were refused since the start.
func (r Refusals) count() (sum uint64) {
	if r == nil {
		return 0
	}
	_, counts := r()
	for _, n := range counts {
		sum += n
	}
	return sum
}

// refusedPage shows the refused events.
type refusedPage struct {
	*web.Site
	refusals Refusals
}

func (s refusedPage) Routes() []web.Route {
	return []web.Route{web.Get("/readings/refused", domain.MayRead, s.show)}
}

// refusedRow is a refused event with the beginning of its data.
type refusedRow struct {
	RefusedEvent
	Sample string
}

type refusedData struct {
	Rows   []refusedRow
	Counts map[string]uint64 // without zeros
	Kept   int
	Pager  web.Pager
}

func (s refusedPage) show(c *gin.Context) error {
	d := refusedData{Counts: map[string]uint64{}}
	if s.refusals != nil {
		newest, counts := s.refusals()
		for reason, n := range counts {
			if n > 0 {
				d.Counts[reason] = n
			}
		}
		d.Kept = len(newest)
		at := min(web.Offset(c), d.Kept)
		for _, one := range newest[at:min(at+web.PageRows, d.Kept)] {
			d.Rows = append(d.Rows, refusedRow{one, sampleOf(one.Begin)})
		}
	}
	d.Pager = web.PagerOf(c, d.Kept, len(d.Rows))
	return s.Show(c, http.StatusOK, "refused", web.Page{Title: "Refused events", Data: d})
}
