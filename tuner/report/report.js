// Draws the charts of a report from the data in the page, and fills its table of candidates.
// Depends on Chart.js 3.9, which stands before it in the page.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('report-data').textContent);
  const root = document.documentElement;
  const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
  let chosenTheme = null;  // what the reader chose; null follows the system
  let charts = [];

  // ---- Numbers as people read them -------------------------------------------------------------

  const significant = (value, digits) => {
    if (value === 0) return '0';
    const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
    return value.toFixed(Math.min(Math.max(decimals, 0), 12));
  };
  const trimmed = (text) => text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  const scaled = (value, digits, units) => {
    for (const [size, unit] of units) {
      if (Math.abs(value) >= size * 0.99995) return significant(value / size, digits) + unit;
    }
    const [size, unit] = units[units.length - 1];
    return significant(value / size, digits) + unit;
  };
  const kSeconds = [[1, ' s'], [1e-3, ' ms'], [1e-6, ' us'], [1e-9, ' ns']];
  const kQuantities = [[1e15, ' P'], [1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k'], [1, '']];
  const formats = {
    number: (v) => trimmed(significant(v, 4)),
    count: (v) => Math.round(v).toLocaleString('en-US'),
    seconds: (v) => scaled(v, 4, kSeconds),
    quantity: (v) => scaled(v, 3, kQuantities),
    ratio: (v) => trimmed(significant(v, 4)) + 'x',
  };
  // On an axis: no more digits than needed.
  const short = (v, units) => {
    if (v === 0) return '0';
    const [number, unit] = scaled(v, 3, units).split(' ');
    return trimmed(number) + (unit ? ' ' + unit : '');
  };
  const tickFormats = {
    number: formats.number,
    count: formats.count,
    seconds: (v) => short(v, kSeconds),
    quantity: (v) => short(v, kQuantities),
    ratio: (v) => trimmed(significant(v, 3)) + 'x',
  };

  // ---- Colours ---------------------------------------------------------------------------------

  const variable = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
  const seriesColor = (index) => variable('c' + (index % 8));
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, '0');

  // ---- From a chart's description to Chart.js ----------------------------------------------------

  const axis = (spec, extra) => {
    const format = tickFormats[spec.format || 'number'];
    const result = {
      type: spec.log ? 'logarithmic' : 'linear',
      title: {display: true, text: spec.label, color: variable('soft')},
      grid: {color: variable('grid'), drawBorder: false},
      ticks: {
        color: variable('soft'), maxRotation: 0, autoSkipPadding: 12,
        callback: (value) => {
          if (!spec.log) return format(value);
          // A logarithmic axis offers many: 1, 2 and 5 of each power, and all where it is short.
          const mantissa = Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(2));
          return spec.dense || [1, 2, 5].includes(mantissa) ? format(value) : null;
        },
      },
      ...extra,
    };
    if (spec.min !== undefined) result.min = spec.min;
    if (spec.max !== undefined) result.max = spec.max;
    return result;
  };

  // A series of an x-y chart as one data set, or as three with a band between the outer two.
  const xyDatasets = (series) => {
    const color = series.color === 'soft' ? variable('soft') : seriesColor(series.color || 0);
    const line = {
      label: series.name, borderColor: color, backgroundColor: color, borderWidth: 2,
      pointRadius: 0, pointHitRadius: 8, tension: 0,
      borderDash: series.dashed ? [6, 4] : [], stepped: series.step ? 'before' : false,
    };
    if (series.mode === 'points') {
      return [{
        ...line, showLine: false, pointRadius: series.size || 3, borderWidth: 1,
        backgroundColor: faded(color, series.hollow ? 0 : 0.45), pointStyle: series.shape || 'circle',
        data: series.points.map(([x, y, label]) => ({x, y, label})),
      }];
    }
    const sets = [];
    if (series.band) {
      const edge = {
        ...line, borderWidth: 0, pointHitRadius: 0, borderDash: [], backgroundColor: faded(color, 0.13),
        hidden: false, band: true,
      };
      sets.push({...edge, data: series.band.map(([x, low]) => ({x, y: low})), fill: false});
      sets.push({...edge, data: series.band.map(([x, , high]) => ({x, y: high})), fill: '-1'});
    }
    sets.push({...line, data: series.points.map(([x, y, label]) => ({x, y, label})), fill: false});
    return sets;
  };

  const legend = (spec) => ({
    display: spec.legend !== false,
    position: 'bottom',
    labels: {
      color: variable('ink'), boxWidth: 22, boxHeight: 2, padding: 10,
      filter: (item, chart) => !chart.datasets[item.datasetIndex].band,
    },
    // Hides a line together with its band.
    onClick: (event, item, self) => {
      const chart = self.chart;
      const name = chart.data.datasets[item.datasetIndex].label;
      const visible = chart.isDatasetVisible(item.datasetIndex);
      chart.data.datasets.forEach((set, i) => {
        if (set.label === name) chart.setDatasetVisibility(i, !visible);
      });
      chart.update();
    },
  });

  const baseOptions = (spec) => ({
    responsive: true, maintainAspectRatio: false, animation: false,
    plugins: {legend: legend(spec), tooltip: {filter: (item) => !item.dataset.band}},
  });

  const xyChart = (spec) => {
    const options = baseOptions(spec);
    options.scales = {x: axis(spec.x), y: axis(spec.y)};
    options.interaction = {mode: 'nearest', axis: 'xy', intersect: false};
    const formatX = formats[spec.x.format || 'number'], formatY = formats[spec.y.format || 'number'];
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? items[0].raw.label || items[0].dataset.label : '',
      label: (item) => [
        item.raw.label ? item.dataset.label : null,
        `${spec.x.label}: ${formatX(item.raw.x)}`, `${spec.y.label}: ${formatY(item.raw.y)}`,
      ].filter((line) => line !== null),
    };
    return {type: 'line', data: {datasets: spec.series.flatMap(xyDatasets)}, options};
  };

  const barChart = (spec) => {
    const options = baseOptions(spec);
    const format = formats[spec.value.format || 'number'];
    const shorten = (name) => name.length > 26 ? name.slice(0, 25) + '…' : name;
    options.indexAxis = 'y';
    options.scales = {
      x: axis(spec.value, {stacked: !!spec.stacked, beginAtZero: true}),
      y: {
        stacked: !!spec.stacked, grid: {display: false},
        ticks: {
          color: variable('ink'), autoSkip: false,
          callback: function(value) { return shorten(this.getLabelForValue(value)); },
        },
      },
    };
    Object.assign(options.plugins.legend.labels, {boxWidth: 14, boxHeight: 10});
    options.plugins.tooltip.callbacks = {
      label: (item) => `${item.dataset.label}: ${format(item.raw)}`,
    };
    const datasets = spec.series.map((series) => {
      const color = series.color === 'soft' ? variable('soft') : seriesColor(series.color || 0);
      return {
        label: series.name, data: series.values, backgroundColor: faded(color, 0.85),
        borderColor: color, borderWidth: 1, maxBarThickness: 22,
      };
    });
    return {type: 'bar', data: {labels: spec.categories, datasets}, options};
  };

  const draw = (spec) => {
    const canvas = document.getElementById(spec.id);
    const config = spec.kind === 'bars' ? barChart(spec) : xyChart(spec);
    return new Chart(canvas, config);
  };

  const drawAll = (theme) => {
    root.dataset.theme = theme;
    charts.forEach((chart) => chart.destroy());
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    charts = data.charts.map(draw);
    document.body.dataset.charts = charts.length;
  };

  // ---- Light, dark and paper -------------------------------------------------------------------

  const theme = () => chosenTheme || (darkQuery.matches ? 'dark' : 'light');
  const themeButton = document.getElementById('theme');
  const applyTheme = () => {
    drawAll(theme());
    if (themeButton) themeButton.textContent = theme() === 'dark' ? 'Light' : 'Dark';
  };
  if (themeButton) {
    themeButton.addEventListener('click', () => {
      chosenTheme = theme() === 'dark' ? 'light' : 'dark';
      applyTheme();
    });
  }
  darkQuery.addEventListener('change', applyTheme);
  window.addEventListener('beforeprint', () => {
    document.querySelectorAll('details').forEach((element) => {
      element.dataset.wasOpen = element.open;
      element.open = true;
    });
    drawAll('light');
    charts.forEach((chart) => chart.resize());
  });
  window.addEventListener('afterprint', () => {
    document.querySelectorAll('details').forEach((element) => {
      element.open = element.dataset.wasOpen === 'true';
    });
    applyTheme();
  });

  // ---- Commands to copy ------------------------------------------------------------------------

  document.querySelectorAll('.command button').forEach((button) => {
    button.addEventListener('click', () => {
      const text = button.parentElement.querySelector('pre').textContent;
      const done = () => {
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
    });
  });

  // ---- The table of candidates: filtered and sorted here, a page of rows at a time ---------------

  const kPage = 50;
  const candidateTable = () => {
    const table = document.getElementById('candidates');
    if (!table || !data.candidates) return;
    const {columns, rows, kernels} = data.candidates;
    const search = document.getElementById('candidate-search');
    const fate = document.getElementById('candidate-fate');
    const position = document.getElementById('candidate-position');
    let page = 0, sortBy = 0, descending = false;

    const cellText = (row, column) => {
      const value = row[column];
      if (value === null || value === undefined) return '';
      const kind = columns[column].format;
      if (kind === 'kernel') return kernels[value];
      return kind ? formats[kind](value) : String(value);
    };
    const selected = () => {
      const wanted = search.value.toLowerCase();
      const kept = rows.filter((row) => {
        if (fate.value && row[3] !== fate.value) return false;
        return !wanted || columns.some((_, i) => cellText(row, i).toLowerCase().includes(wanted));
      });
      const less = (a, b) => {
        const x = a[sortBy], y = b[sortBy];
        const noX = x === null || x === undefined, noY = y === null || y === undefined;
        if (noX || noY) return noX - noY;
        const order = x < y ? -1 : x > y ? 1 : 0;
        return descending ? -order : order;
      };
      return kept.sort((a, b) => less(a, b) || a[0] - b[0]);
    };
    const show = () => {
      const kept = selected();
      page = Math.max(0, Math.min(page, Math.ceil(kept.length / kPage) - 1));
      const body = table.tBodies[0];
      body.replaceChildren();
      kept.slice(page * kPage, (page + 1) * kPage).forEach((row) => {
        const line = body.insertRow();
        columns.forEach((column, i) => {
          const cell = line.insertCell();
          cell.textContent = cellText(row, i);
          cell.className = column.class || '';
        });
      });
      const last = Math.min(kept.length, (page + 1) * kPage);
      position.textContent = kept.length ?
          `${formats.count(page * kPage + 1)}–${formats.count(last)} of ${formats.count(kept.length)}` :
          'none';
      [...table.tHead.rows[0].cells].forEach((cell, i) => {
        if (i === sortBy) cell.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        else cell.removeAttribute('aria-sort');
      });
      document.getElementById('candidate-previous').disabled = page === 0;
      document.getElementById('candidate-next').disabled = last === kept.length;
    };

    const heading = table.tHead.insertRow();
    columns.forEach((column, i) => {
      const cell = document.createElement('th');
      cell.className = column.class === 'n' ? 'n' : '';
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = column.title;
      button.addEventListener('click', () => {
        descending = sortBy === i ? !descending : false;
        sortBy = i;
        page = 0;
        show();
      });
      cell.appendChild(button);
      heading.appendChild(cell);
    });
    const first = () => { page = 0; show(); };
    search.addEventListener('input', first);
    fate.addEventListener('change', first);
    document.getElementById('candidate-previous').addEventListener('click', () => { --page; show(); });
    document.getElementById('candidate-next').addEventListener('click', () => { ++page; show(); });
    show();
  };

  applyTheme();
  candidateTable();
})();
