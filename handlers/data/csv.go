package data

import (
	"bytes"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers"
	"ledge/handlers/csvtext"
)

const typeCSV = "text/csv"

// csvColumns are the names of the columns of readings.
var csvColumns = []string{"time", "deviceName", "resourceName", "value", "units", "valueType", "mediaType", "origin", "id"}

// csvTime is the form of a time: RFC 3339 with milliseconds, in UTC. The origin has the nanoseconds.
const csvTime = "2006-01-02T15:04:05.000Z07:00"

// listCSV answers with a page of readings as CSV.
func (s service) listCSV(c *gin.Context, filter handlers.Asked, header bool) {
	found, err := handlers.FindPage(s.API, c, s.state, readingKind, filter)
	if err != nil {
		s.Fail(c, err)
		return
	}
	contentType := typeCSV + "; charset=utf-8; header=absent"
	if header {
		contentType = typeCSV + "; charset=utf-8; header=present"
	}
	a := s.answerOf(c, contentType)
	defer a.Release()
	a.Disposition = "attachment"
	if header {
		a.appendCSV(func(dst []byte) []byte { return csvtext.AppendRow(dst, csvColumns...) })
	}
	// Rows are not counted, as in JSON.
	a.Fail(found.Each(func(int64) error { return nil }, func(r *domain.Reading) error {
		a.appendReading(*r)
		return a.Err
	}))
	a.End()
}

func (a *answer) appendCSV(f func(dst []byte) []byte) {
	a.Append(func(dst []byte) ([]byte, error) { return f(dst), nil })
}

// appendReading writes a reading as a row, unless its value is gone meanwhile. A Binary has an empty value: its bytes are at
// [domain.ReadingPath].
func (a *answer) appendReading(r domain.Reading) {
	cells := func(dst []byte, list ...string) []byte {
		for _, cell := range list {
			dst = append(csvtext.AppendCell(dst, cell), ',')
		}
		return dst
	}
	before := []string{time.Unix(0, r.Origin).UTC().Format(csvTime), r.Device, r.Resource}
	behind := []string{"", r.Units, r.ValueType, r.MediaType, decimal(r.Origin), r.ID}
	short := r.ValueType == domain.Binary || r.Text != "" || r.Size == 0
	if short {
		behind[0] = strings.ToValidUTF8(r.Text, "\ufffd")
		a.appendCSV(func(dst []byte) []byte { return csvtext.AppendRow(cells(dst, before...), behind...) })
		return
	}
	value, ok := a.openValue(r)
	if !ok {
		return
	}
	defer value.Close()
	a.appendCSV(func(dst []byte) []byte { return append(cells(dst, before...), '"') })
	first := true
	a.Fail(eachPart(value, func(part []byte) {
		a.appendCSV(func(dst []byte) []byte {
			if first && csvtext.IsFormula(string(part)) {
				dst = append(dst, '\'')
			}
			first = false
			return csvtext.AppendPart(dst, bytes.ToValidUTF8(part, []byte("\ufffd")))
		})
	}))
	a.appendCSV(func(dst []byte) []byte { return csvtext.AppendRow(append(dst, '"'), behind...) })
}
