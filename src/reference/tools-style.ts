/** Styles of what stands beside the text of a page: the search, the buttons that copy, and the contents on wide pages. */
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
