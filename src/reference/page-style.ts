/** Styles of the parts beside the text of a page: the search, the copy buttons, and the contents on wide pages. */
export const TOOLS_STYLE = `
[hidden]{display:none!important}
.unseen{position:absolute;width:1px;height:1px;margin:-1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.find,.copy,.search button{font:inherit;color:var(--soft);background:var(--paper);border:1px solid var(--line);border-radius:6px;cursor:pointer}
.find:hover,.copy:hover,.search button:hover{color:var(--ink);border-color:var(--soft)}
button:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.find{display:flex;gap:1.5rem;align-items:center;min-height:2.25rem;padding:.2rem .5rem .2rem .75rem;font-size:.92rem;background:var(--shade)}
kbd{padding:.1rem .4rem;font:.75rem/1.5 system-ui,sans-serif;border:1px solid var(--line);border-radius:4px;background:var(--paper)}
.code{position:relative}
.copy{position:absolute;top:.45rem;right:.45rem;min-height:1.75rem;padding:.1rem .55rem;font-size:.8rem}
@media(hover:hover){.copy{opacity:0}.code:hover .copy,.code:focus-within .copy{opacity:1}}
@media(hover:none){.code:has(.copy) pre{padding-top:2.6rem}}
.search{width:min(40rem,calc(100vw - 2rem));max-height:min(38rem,calc(100dvh - 2rem));margin:min(12vh,6rem) auto auto;padding:0;overflow:hidden;color:inherit;background:var(--paper);border:1px solid var(--line);border-radius:12px;box-shadow:0 1.2rem 3rem #0003}
.search[open]{display:flex;flex-direction:column}
.search::backdrop{background:#0b101680}
.search div{display:flex;gap:.75rem;padding:.75rem;border-bottom:1px solid var(--line)}
.search input{flex:1;min-width:0;min-height:2.5rem;padding:.3rem .5rem;font:inherit;font-size:1.05rem;color:inherit;background:none;border:0;border-radius:6px}
.search input:focus-visible{outline:2px solid var(--accent)}
.search input::placeholder{color:var(--soft);opacity:1}
.search button{padding:.2rem .7rem;font-size:.88rem}
.search p{margin:0;padding:.6rem 1.25rem 0;font-size:.85rem;color:var(--soft)}.search p:empty{display:none}
.search ul{margin:0;padding:.5rem;overflow-y:auto;list-style:none}
.search a{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 .75rem;padding:.5rem .75rem;border-radius:8px;color:inherit;text-decoration:none}
.search a:hover,.search a:focus{background:var(--shade)}
.search small{font-size:.78rem;color:var(--soft);align-self:center}
.search span{grid-column:1/-1;overflow:hidden;font-size:.88rem;color:var(--soft);white-space:nowrap;text-overflow:ellipsis}
.tabs{display:none;margin:.4rem 0 0;padding:0;border:0}
@supports selector(:has(a)){
.tabs{display:flex;flex-wrap:wrap;gap:.25rem}
.tabs label{position:relative;padding:.3rem .6rem;font-size:.85rem;color:var(--soft);border-bottom:2px solid transparent;cursor:pointer}
.tabs label:hover{color:var(--ink)}
.tabs input{position:absolute;inset:0;margin:0;opacity:0;cursor:pointer}
.tabs label:has(:checked){color:var(--accent);border-color:var(--accent)}
.tabs label:has(:focus-visible){outline:2px solid var(--accent);border-radius:3px}
.tabs:not(:has([value=curl]:checked))~.in-curl,.tabs:not(:has([value=typescript]:checked))~.in-typescript,.tabs:not(:has([value=python]:checked))~.in-python,.tabs:not(:has([value=php]:checked))~.in-php{display:none}}
.on-page{display:none}
@media(min-width:75rem){
.beside{grid-template-columns:17rem minmax(0,1fr) 15.5rem}
nav.on-page{display:block;grid-column:3;align-self:start;height:auto;max-height:calc(100vh - 3.25rem);padding:2.2rem 1.25rem 2rem 0;border:0}
.on-page p{margin-top:0}.on-page a{padding:.28rem 0 .28rem .9rem;border-left:2px solid var(--line);border-radius:0;font-size:.9rem;line-height:1.4;color:var(--soft)}
.on-page a:hover{background:none;color:var(--accent);border-color:var(--accent)}.on-page .deep{padding-left:1.8rem}}
@media(max-width:40rem){.find kbd{display:none}.find{padding:.2rem .75rem}header{gap:.9rem}}
@media print{.find,.copy{display:none}}`;

/** The stylesheet of the reference: system fonts, light and dark colours, for print and for phones. */
export const PAGE_STYLE = `:root{color-scheme:light dark;--ink:#1a2027;--soft:#57606b;--line:#d9dee4;--paper:#fff;--shade:#f5f7f9;--accent:#0b6b5d;--get:#0b5cad;--post:#0b6b3a;--change:#8a4b00;--delete:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e4e9ee;--soft:#9aa5b1;--line:#2d353e;--paper:#0f1419;--shade:#171d24;--accent:#5fd0bd;--get:#7cb8ff;--post:#6fd39a;--change:#f0b46a;--delete:#ff9a92}}
*{box-sizing:border-box}
html{scroll-padding-top:4rem;-webkit-text-size-adjust:100%}
body{margin:0;font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;color:var(--ink);background:var(--paper);overflow-wrap:break-word}
a{color:var(--accent);text-underline-offset:.15em}
a:focus-visible,summary:focus-visible,[tabindex]:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;z-index:2;background:var(--paper);padding:.3rem .6rem}
header{position:sticky;top:0;z-index:1;display:flex;gap:1.25rem;align-items:center;min-height:3.25rem;padding:.4rem 1.25rem;background:var(--paper);border-bottom:1px solid var(--line)}
header strong{flex:1;overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
header a{display:inline-block;padding:.45rem 0;text-decoration:none}header strong a{color:inherit}
.frame{display:grid;grid-template-columns:minmax(0,1fr);max-width:88rem;margin:0 auto}
main{padding:1.5rem 1.25rem 4rem;min-width:0}
nav{padding:1.25rem;border-top:1px solid var(--line)}
nav p{margin:1.1rem 0 .3rem;font-size:.78rem;font-weight:650;letter-spacing:.04em;text-transform:uppercase;color:var(--soft)}
nav ul,.op ul,.cards,.operations{padding:0!important}
nav ul{list-style:none;margin:0;padding:0}
nav a{display:block;padding:.5rem .6rem;border-radius:6px;color:inherit;text-decoration:none}
nav a:hover{background:var(--shade)}nav a[aria-current]{background:var(--shade);color:var(--accent);font-weight:600}
nav ul ul a{padding-left:1.4rem;font-size:.9rem;color:var(--soft)}
h1,h2,h3{line-height:1.25;text-wrap:balance}
h1{font-size:1.9rem;letter-spacing:-.01em;margin:.2rem 0 .8rem}
h2{font-size:1.35rem;margin:2.4rem 0 .7rem}
h3{font-size:1.1rem;margin:1.8rem 0 .5rem}
.op h2{font-size:1.15rem;margin:0 0 .4rem}.op h3{font-size:.98rem;margin:1.5rem 0 .5rem}.op h4{font-size:.92rem;margin:1.2rem 0 .4rem;color:var(--soft)}
h2 a,h3 a{color:inherit;text-decoration:none}h2 a:hover,h3 a:hover{text-decoration:underline}
p,ul,ol{margin:.6rem 0}.prose{max-width:46rem}
.lead,.head h1+p{font-size:1.08rem;color:var(--soft);max-width:46rem}
code{font:.875em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Noto Sans Mono",monospace}
:not(pre)>code{background:var(--shade);padding:.1em .3em;border-radius:4px;overflow-wrap:anywhere}
pre{margin:.5rem 0 1rem;padding:.8rem .95rem;background:var(--shade);border:1px solid var(--line);border-radius:8px;overflow:auto;font-size:.9rem}
pre code{white-space:pre-wrap;overflow-wrap:anywhere}pre b{font-weight:400;color:var(--accent)}
.examples pre{max-height:30rem}
.file,.examples p{margin:.9rem 0 -.2rem;font-size:.85rem;color:var(--soft)}
.wide{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{text-align:left;padding:.45rem .8rem .45rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td code{white-space:nowrap}
th{font-weight:600;color:var(--soft);white-space:nowrap}
.op{border-top:1px solid var(--line);padding:2rem 0}
.method{display:inline-block;font:600 .75rem/1 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;padding:.25rem .4rem;border:1px solid currentColor;border-radius:5px;color:var(--change)}
.get{color:var(--get)}.post{color:var(--post)}.delete{color:var(--delete)}
.op ul{list-style:none;padding:0;margin:.4rem 0;border-left:2px solid var(--line)}
.op li{padding:.4rem 0 .4rem .8rem}.op ul ul{margin-top:.5rem}
.op li>code:first-child{font-weight:600}.op i,.type{font-style:normal;font-size:.86rem;color:var(--soft)}.op i b{font-weight:400;color:var(--change)}
details{margin:.5rem 0}summary{cursor:pointer;padding:.5rem 0;color:var(--accent)}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(17rem,100%),1fr));gap:.8rem;padding:0;list-style:none}
.cards a{display:block;height:100%;padding:.9rem 1rem;border:1px solid var(--line);border-radius:10px;color:inherit;text-decoration:none}
.cards a:hover{border-color:var(--accent)}.cards strong{display:block;color:var(--accent)}.cards span{font-size:.92rem;color:var(--soft)}
.operations{list-style:none;padding:0}
.operations a{display:grid;grid-template-columns:4.6rem minmax(0,1fr);align-items:baseline;padding:.5rem 0;color:inherit;text-decoration:none;border-bottom:1px solid var(--line)}
.operations a:hover .what{color:var(--accent);text-decoration:underline}
.operations .what,.operations code{grid-column:2}.operations .method{justify-self:start}.operations code{background:none;padding:0;color:var(--soft)}
figure{margin:1.4rem 0;max-width:27rem}figure svg{display:block;width:100%;height:auto}
figure .s{stroke:var(--accent)}figure .f{fill:var(--accent)}figure .soft{fill:var(--soft)}
figcaption{font-size:.88rem;color:var(--soft);margin-top:.4rem}
.turn{display:flex;flex-wrap:wrap;justify-content:space-between;gap:1rem;margin-top:3rem;padding-top:1.2rem;border-top:1px solid var(--line)}
.turn a{padding:.5rem 0}
@media(min-width:64rem){
.frame{grid-template-columns:17rem minmax(0,1fr)}
nav{grid-row:1;grid-column:1;position:sticky;top:3.25rem;height:calc(100vh - 3.25rem);overflow-y:auto;border-top:0;border-right:1px solid var(--line)}
main{grid-column:2;padding:2rem 2.5rem 5rem}nav a{padding:.28rem .6rem}.to-contents{display:none}
.operations a{grid-template-columns:4.6rem minmax(0,1fr) minmax(0,1.2fr);gap:.2rem}.operations code{grid-column:3}}
@media(min-width:76rem){.sides{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,27rem);gap:2.5rem}.examples pre{max-height:24rem}}
@media(max-width:40rem){.to-openapi{display:none}.method+code{display:block;margin-top:.4rem;width:fit-content}ul,ol{padding-left:1.2rem}}
@media print{header,nav,.turn{display:none}.frame,.sides{display:block}pre{white-space:pre-wrap}.examples pre{max-height:none}}`;
