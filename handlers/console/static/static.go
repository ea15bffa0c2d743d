// Package static has the files that every page of the console loads: scripts, the style sheet and the icon.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

//go:embed *.js *.css *.svg *.LICENSE
var folder embed.FS

// asset is a file that every page loads. Its address changes with its content, so browsers keep it for ever.
type asset struct {
	contentType    string
	plain, gzipped []byte
	version        string
}

var all = readAll()

func readAll() map[string]asset {
	files := map[string]asset{}
	names, err := fs.Glob(folder, "*")
	if err != nil {
		panic(err) // the pattern is in the program
	}
	for _, name := range names {
		text, err := folder.ReadFile(name)
		if err != nil {
			panic(err) // it is in the program
		}
		var packed bytes.Buffer
		z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
		_, _ = z.Write(text)                                       // a buffer takes all
		_ = z.Close()
		sum := sha256.Sum256(text)
		files[name] = asset{typeOf(name), text, packed.Bytes(), hex.EncodeToString(sum[:6])}
	}
	return files
}

func typeOf(name string) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "text/plain; charset=utf-8"
}

// Path is the address of a file in this folder.
func Path(name string) string { return "/static/" + name + "?v=" + all[name].version }

// Serve answers with a file in this folder, or 404.
func Serve(c *gin.Context, name string) {
	a, ok := all[name]
	if !ok {
		c.String(http.StatusNotFound, "there is no such file\n")
		return
	}
	text := a.plain
	c.Header("Content-Type", a.contentType)
	c.Header("Vary", "Accept-Encoding")
	if c.Query("v") == a.version {
		c.Header("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
		text = a.gzipped
		c.Header("Content-Encoding", "gzip")
	}
	c.Header("Content-Length", strconv.Itoa(len(text)))
	c.Status(http.StatusOK)
	_, _ = c.Writer.Write(text) // it fails if the browser is gone, and then no answer can reach it
}
