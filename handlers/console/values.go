package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/handlers/console/web"
	"ledge/handlers/entities"
)

// The kinds of values, by how a page shows them.
const (
	kindImage  = "image"
	kindVideo  = "video"
	kindAudio  = "audio"
	kindFile   = "file"
	kindNumber = "number"
	kindJSON   = "json"
	kindText   = "text"
)

const (
	// mostTree bounds the values of a JSON tree, and treeBytes its text.
	mostTree, treeBytes = 2000, 256 << 10
	// shortText is how much of a text a list shows, in bytes.
	shortText = 200
)

// value is a reading as pages show it.
type value struct {
	domain.Reading
	Kind     string // says how the value is shown
	At       int64  // in milliseconds since the Unix epoch
	Link     string // the address of the value's bytes
	Number   string // the text; a number is in its usual form
	Short    string // the beginning of the text, with the units
	FileName string // of a download
}

func newValue(r domain.Reading) value {
	v := value{
		Reading: r, Kind: kindOf(r.ValueType, r.MediaType), At: r.Origin / 1e6, Link: "/readings/" + url.PathEscape(r.ID) + "/value",
		Number: usualNumber(r),
	}
	v.Short, v.FileName = shortOf(v), fileNameOf(v)
	return v
}

func valuesOf(readings []domain.Reading) []value {
	all := make([]value, len(readings))
	for i, r := range readings {
		all[i] = newValue(r)
	}
	return all
}

func kindOf(valueType, mediaType string) string {
	switch {
	case valueType == domain.Binary:
		return mediaKind(mediaType)
	case valueType == "Object":
		return kindJSON
	case strings.HasSuffix(valueType, "Array"):
	case strings.HasPrefix(valueType, "Int"), strings.HasPrefix(valueType, "Uint"), strings.HasPrefix(valueType, "Float"):
		return kindNumber
	}
	return kindText
}

// mediaKind is how bytes are shown. SVG can have scripts, so it is a file, as core-data says as well.
func mediaKind(mediaType string) string {
	name, _, err := mime.ParseMediaType(mediaType)
	if err != nil || strings.Contains(name, "xml") || strings.Contains(name, "svg") {
		return kindFile
	}
	switch first, _, _ := strings.Cut(name, "/"); first {
	case kindImage, kindVideo, kindAudio:
		return first
	}
	return kindFile
}

// usualNumber returns a number in its usual form, another value as it is.
func usualNumber(r domain.Reading) string {
	bits := map[string]int{"Float32": 32, "Float64": 64}[r.ValueType]
	n, err := strconv.ParseFloat(r.Text, 64)
	if bits == 0 || err != nil {
		return r.Text
	}
	return strconv.FormatFloat(n, 'g', -1, bits)
}

// shortOf returns the beginning of a value's text, or the size of a value without a text.
func shortOf(v value) string {
	switch {
	case v.Kind == kindNumber:
		return strings.TrimSpace(v.Number + " " + v.Units)
	case v.Text == "" && v.Size > 0:
		return web.ShowBytes(v.Size)
	case len(v.Text) > shortText:
		return web.CutText(v.Text, shortText)
	}
	return strings.TrimSpace(v.Text + " " + v.Units)
}

// fileNameOf returns the name of the file that a download makes.
func fileNameOf(v value) string {
	end := ""
	if all, err := mime.ExtensionsByType(v.MediaType); err == nil && len(all) > 0 {
		end = all[len(all)-1]
	}
	return fmt.Sprintf("%s-%s-%d%s", v.Device, v.Resource, v.At, end)
}

// values reads readings.
type values struct {
	*web.Site
	view entities.Reader
}

// serveValue answers with the bytes of a reading, as core-data does.
func (s values) serveValue(c *gin.Context) error {
	var header []string
	for _, name := range []string{"Range", "If-Range", "If-None-Match"} {
		if value := c.GetHeader(name); value != "" {
			header = append(header, name, value)
		}
	}
	return s.Forward(c, dataService, http.MethodGet, domain.ReadingPath(url.PathEscape(c.Param("id"))), header...)
}

// textOf is the whole text of a value; ok is false if it is too long for a page.
func (s values) textOf(c *gin.Context, v value) (text []byte, ok bool) {
	if v.Text != "" || v.Size == 0 {
		return []byte(v.Text), true
	}
	if v.Size > treeBytes {
		return nil, false
	}
	a := s.Call(c, dataService, http.MethodGet, domain.ReadingPath(url.PathEscape(v.ID)), nil)
	return a.Body, a.OK()
}

// node is a part of a JSON value.
type node struct {
	Key, Text string
	Nodes     []node
	Left      int    // how many more there are that are not shown
	Open      bool   // at first
	Size      string // how many nodes it has, in the brackets of JSON
}

// treeOf is the tree of a JSON text; nil if the text is not JSON.
func treeOf(text []byte) *node {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var v any
	if in.Decode(&v) != nil {
		return nil
	}
	left := mostTree
	n := nodeOf("", v, &left)
	return &n
}

func nodeOf(key string, v any, left *int) node {
	n, brackets := node{Key: key}, "{}"
	add := func(key string, v any) {
		if *left--; *left < 0 {
			n.Left++
			return
		}
		n.Nodes = append(n.Nodes, nodeOf(key, v, left))
	}
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			add(key, v[key])
		}
	case []any:
		brackets = "[]"
		for i, one := range v {
			add(strconv.Itoa(i), one)
		}
	default:
		text, _ := json.Marshal(v) // it was decoded from JSON
		n.Text = string(text)
	}
	if n.Text == "" && len(n.Nodes) == 0 && n.Left == 0 {
		n.Text = brackets
	}
	n.Open, n.Size = len(n.Nodes) <= 20, fmt.Sprintf("%c%d%c", brackets[0], len(n.Nodes)+n.Left, brackets[1])
	return n
}

// readings returns a page of readings, the newest first, and how many there are.
func (s values) readings(p domain.Page, filters ...domain.Filter) ([]domain.Reading, int, error) {
	view, done := s.view()
	defer done()
	return view.Lists.Readings(p, filters...)
}
